-------------------------------- MODULE Tick --------------------------------
(* One job under `allow`, from a tick that is due to an execution that has run. Journal, advance, insert, send; catch-up; *)
(* edits that wait and new zone rules (renewals); retention; take-over and hand-over of the bucket; the watch.            *)
(* Every process may act on any head that the index ever showed, stop between two writes for any time, and die there.     *)
(* The world is one record `w`; what only the proof needs to remember stands in its part `g`.                              *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Schedulers, Ticks, Times,      \* how many; ticks are 1..Ticks, the clock goes from 0 to Times
  CatchUp, Window, Kind,         \* "all" | "latest" | "none"; how late a tick is made up; "cron" | "once"
  Lookahead, StaleIndex, AtomicWatch,
  Guard, Retention,              \* the insert guard, and how long an ended row is kept at least, in steps of the clock
  Crashes, Losses, Zones, WaitingEdit, Edits, Hands,
  JournalFirst,                  \* J comes before A
  AdvanceFirst,                  \* A comes before I
  PinsVersion,                   \* A names the version that it was planned from
  PinsNext,                      \* edits and renewals name the nextRunAt that they were computed from
  HelpsExact,                    \* whoever is refused helps only where firedThrough is exactly its tick
  KeepsOpen,                     \* an entry that can still be decided is kept
  LooksBack,                     \* the execution of firedThrough exists before the next A
  HeadSays,                      \* I writes the verdict and version of the head, not the caller's own
  GuardsInsert,                  \* a decision older than the guard is never queued
  PassesOnlyPassed,              \* what catch-up passes over goes to passedThrough, not to firedThrough
  RowWithAdvance,                \* the row of a range is written in A's transaction
  StepsPast,                     \* a tick at or before passedThrough is told of already
  RenewsFirst, RenewRaises,      \* a renewal comes before the decision, and raises the version
  EditAims,                      \* an edit keeps what is due by the rules of today, not by those of before
  EndedIsLookedAfter,            \* entries of a job that has ENDED are judged like all others
  NewerPageFirst,                \* kept entries stand on a newer page before the old one goes
  TakeOverKeeps,                 \* take-over leaves the pages where they are
  NotesTrouble                   \* an owner that could not finish a step does not call its bucket drained
VARIABLE w
T == 1..Ticks
P == 1..Schedulers
Never == Ticks + 1
Unlimited == 99
Min(X) == CHOOSE x \in X : \A y \in X : x <= y
Max(X) == CHOOSE x \in X : \A y \in X : x >= y
Effective == 2                   \* when the edit that waits takes effect
\* New zone rules move the first tick from 1 to 2; the others stay.
On(sch, rules) == LET all == IF Zones = 0 THEN T ELSE IF rules = 1 THEN T \ {2} ELSE T \ {1}
                  IN IF sch = "all" THEN all ELSE {t \in all : t % 2 = 0}
Nominal(t) == IF Zones > 0 /\ t \in {1, 2} THEN 1 ELSE t
\* The ticks of a head for as long as its plan counts, and where it is due after x.
Open(h, rules) == {t \in On(h.sch, rules) : h.eff = 0 \/ t < h.eff}
After(h, rules, x) == LET later == {t \in Open(h, rules) : t > x}
                      IN IF later # {} THEN Min(later) ELSE IF h.eff # 0 THEN h.eff ELSE Never
Through(h) == Max({h.ft, h.pt})
Finished == {"DONE", "SKIPPED", "DEAD"}

Born == [next |-> 1, ver |-> 1, st |-> "ACTIVE", ft |-> 0, as |-> "-", fv |-> 0, at |-> 0, pt |-> 0, sch |-> "all", dv |-> 1,
         eff |-> IF WaitingEdit THEN Effective ELSE 0, tz |-> 1]
NoPlan == [fire |-> 0, as |-> "-", next |-> 0, over |-> {}]
Idle == [pc |-> "idle", h |-> Born, plan |-> NoPlan, old |-> Born]
NoEntry == [t |-> 0, v |-> 0, c |-> 0]
Init == w = [
  now |-> 0, rules |-> 1, zones |-> 0, head |-> Born, shown |-> {Born}, row |-> [t \in T |-> "-"], rv |-> [t \in T |-> 0],
  told |-> {}, hint |-> [t \in T |-> FALSE], pages |-> {}, p |-> [i \in P |-> Idle],
  watch |-> [pc |-> "idle", e |-> NoEntry, h |-> Born],
  api |-> [pc |-> "idle", h |-> Born, new |-> Born], edits |-> 0,
  holder |-> 0, drained |-> FALSE, well |-> [i \in P |-> FALSE],
  g |-> [ran |-> [t \in T |-> 0], as |-> [t \in T |-> "-"], dv |-> [t \in T |-> 0], over |-> {}, twice |-> FALSE, ghost |-> FALSE,
         ended |-> [t \in T |-> 0], off |-> FALSE, wrong |-> FALSE, sent |-> {}, begun |-> {}],
  crashes |-> 0, losses |-> 0]

\* ------------------------------------------------------------------ what a decision is: domain/choice.py, domain/ticks.py
Plan(h, now, rules) ==
  LET due == h.next
      ticks == Open(h, rules) \cup {due}
      Span(a, b) == {t \in ticks : t >= a /\ t <= b}
      Fire(f, verdict) == [fire |-> f, as |-> verdict, next |-> After(h, rules, f), over |-> Span(due, f - 1)]
      Pass(until) == [fire |-> 0, as |-> "-", next |-> After(h, rules, until), over |-> Span(due, until)]
      horizon == IF now > Window THEN now - Window ELSE 0
      first == {t \in ticks : t >= horizon /\ t >= due /\ t <= now}
  IN IF StepsPast /\ due <= h.pt THEN [NoPlan EXCEPT !.next = After(h, rules, h.pt)]
     ELSE IF now <= due THEN Fire(due, "RUN")
     ELSE IF Kind = "once" THEN Fire(due, IF due < horizon THEN "DEAD" ELSE "RUN")
     ELSE CASE CatchUp = "none" -> Pass(now)
            [] CatchUp = "latest" -> IF Max(Span(due, now)) >= horizon THEN Fire(Max(Span(due, now)), "RUN") ELSE Pass(now)
            [] CatchUp = "all" -> IF first # {} THEN Fire(Min(first), "RUN") ELSE Pass(now)

\* ------------------------------------------------------------------ renewals: domain/pending.py
SwitchDue(h) == h.eff # 0 /\ h.next >= h.eff
Stands(h, rules) == h.next \in On(h.sch, rules) \cup {h.eff} \/ h.tz = rules
NeedsRenewal(h, rules) == RenewsFirst /\ (SwitchDue(h) \/ ~Stands(h, rules))
Nearest(h, rules) ==
  LET near == {t \in Open(h, rules) : t > Through(h)}
      Far(t) == IF t > h.next THEN t - h.next ELSE h.next - t
  IN IF near = {} THEN After(h, rules, Ticks) ELSE CHOOSE t \in near : \A u \in near : Far(t) < Far(u) \/ (Far(t) = Far(u) /\ t <= u)
Placed(h, next) == [h EXCEPT !.next = next, !.st = IF next = Never THEN "ENDED" ELSE "ACTIVE"]
Renewed(h, rules) ==
  IF SwitchDue(h)
  THEN LET new == [h EXCEPT !.sch = "even", !.dv = @ + 1, !.eff = 0, !.tz = rules]
       IN Placed(new, After(new, rules, Max({h.eff - 1, Through(h)})))
  ELSE Placed([h EXCEPT !.tz = rules], Nearest(h, rules))

\* ------------------------------------------------------------------ writes
Show(v, h) == [v EXCEPT !.head = h, !.shown = IF StaleIndex THEN @ \cup {h} ELSE {h}]
Stop(v, i) == [v EXCEPT !.p[i] = Idle]
Go(v, i, pc) == [v EXCEPT !.p[i].pc = pc]
Insert(v, h, verdict, version) ==
  LET t == h.ft
      late == GuardsInsert /\ v.now > h.at + Guard
      state == IF verdict = "RUN" THEN (IF late THEN "SKIPPED" ELSE "QUEUED") ELSE verdict
  IN IF t = 0 \/ v.row[t] # "-" THEN v
     ELSE [v EXCEPT !.row[t] = state, !.rv[t] = version,
                    !.g.ghost = @ \/ v.g.as[t] = "-",
                    !.g.wrong = @ \/ (v.g.as[t] # "-" /\ (verdict # v.g.as[t] \/ version # v.g.dv[t]))]
Send(v, t) == IF v.row[t] = "QUEUED" THEN [v EXCEPT !.hint[t] = TRUE, !.g.sent = @ \cup {t}] ELSE v
InsertAsHead(v, h) == Insert(v, h, h.as, h.fv)
Decide(v, i) ==
  LET h == v.p[i].h plan == v.p[i].plan fires == plan.fire # 0
      ft == IF fires THEN plan.fire ELSE IF ~PassesOnlyPassed /\ plan.over # {} THEN Max(plan.over) ELSE h.ft
      new == Placed([v.head EXCEPT !.ft = ft, !.as = IF fires THEN plan.as ELSE @, !.fv = IF fires THEN h.dv ELSE @,
                       !.at = IF fires THEN v.now ELSE @, !.pt = IF plan.over = {} THEN @ ELSE Max(plan.over), !.tz = v.rules], plan.next)
      shown == [Show(v, new) EXCEPT !.told = IF RowWithAdvance THEN @ \cup plan.over ELSE @, !.g.over = @ \cup plan.over,
                                    !.p[i].h = new, !.p[i].old = h]
  IN IF ~fires THEN shown
     ELSE [shown EXCEPT !.g.as[plan.fire] = plan.as, !.g.dv[plan.fire] = h.dv, !.g.twice = @ \/ v.g.as[plan.fire] # "-",
                        !.g.off = @ \/ (h.eff # 0 /\ plan.fire >= h.eff) \/ h.dv # v.head.dv,
                        !.g.begun = IF v.holder = i THEN @ \cup {plan.fire} ELSE @]

\* ------------------------------------------------------------------ the scheduler: services/fire.py
Clock == w.now < Times /\ w' = [w EXCEPT !.now = @ + 1]
NewRules == w.zones < Zones /\ w' = [w EXCEPT !.rules = 3 - @, !.zones = @ + 1]
CatchIndexUp == w.shown # {w.head} /\ w' = [w EXCEPT !.shown = {w.head}]
Look(i) == /\ w.p[i].pc = "idle"
  /\ \E h \in w.shown :
       /\ h.st = "ACTIVE" /\ h.next <= w.now + Lookahead
       /\ w' = [w EXCEPT !.p[i] = [pc |-> IF NeedsRenewal(h, w.rules) THEN "renew" ELSE IF LooksBack THEN "back" ELSE
                                          IF JournalFirst THEN "page" ELSE "advance",
                                   h |-> h, old |-> Renewed(h, w.rules), plan |-> Plan(h, w.now, w.rules)]]
\* The write of a head that the scheduler does not own: version and nextRunAt as seen, which each decision moves; what A owns stays as it stands.
Rewritten(v, h, new, raises) ==
  IF v.head.ver = h.ver /\ (PinsNext => v.head.next = h.next)
  THEN Show(v, [new EXCEPT !.ver = IF raises THEN @ + 1 ELSE @, !.ft = v.head.ft, !.as = v.head.as, !.fv = v.head.fv,
                           !.at = v.head.at, !.pt = v.head.pt])
  ELSE v
Renew(i) == w.p[i].pc = "renew" /\ w' = Stop(Rewritten(w, w.p[i].h, w.p[i].old, RenewRaises), i)
\* An edit that counts at once keeps a tick that is due by today's rules, else goes on after now and all that was decided: domain/ticks.py.
Edited(h) == LET new == [h EXCEPT !.sch = "even", !.dv = @ + 1, !.eff = 0, !.tz = w.rules]
                 due == IF EditAims /\ ~Stands(h, w.rules) THEN Nearest(h, w.rules) ELSE h.next
             IN IF due <= w.now /\ ~SwitchDue(h) THEN Placed(new, due) ELSE Placed(new, After(new, w.rules, Max({w.now, Through(h)})))
EditRead == /\ w.edits < Edits /\ w.api.pc = "idle" /\ w.head.st = "ACTIVE"
  /\ w' = [w EXCEPT !.api = [pc |-> "write", h |-> w.head, new |-> Edited(w.head)], !.edits = @ + 1]
EditWrite == w.api.pc = "write" /\ w' = [Rewritten(w, w.api.h, w.api.new, TRUE) EXCEPT !.api = [pc |-> "idle", h |-> Born, new |-> Born]]
LookBack(i) == /\ w.p[i].pc = "back"
  /\ LET h == w.p[i].h
         sure == h.ft = 0 \/ (GuardsInsert /\ w.now > h.at + Guard)
     IN w' = Go(IF sure THEN w ELSE InsertAsHead(w, h), i, IF JournalFirst THEN "page" ELSE "advance")
Entry(i) == [t |-> IF w.p[i].plan.fire = 0 THEN w.p[i].h.next ELSE w.p[i].plan.fire, v |-> w.p[i].h.ver, c |-> 0]
Journal(i) == /\ w.p[i].pc = "page"
  /\ w' = Go([w EXCEPT !.pages = IF Entry(i).t \in T THEN @ \cup {Entry(i)} ELSE @], i,
             IF ~JournalFirst THEN "insert" ELSE IF AdvanceFirst THEN "advance" ELSE "early")
\* I before A: only where the guard AdvanceFirst is taken out.
Early(i) == /\ w.p[i].pc = "early"
  /\ LET plan == w.p[i].plan IN
     w' = Go(IF plan.fire = 0 THEN w ELSE Send(Insert(w, [w.p[i].h EXCEPT !.ft = plan.fire, !.at = w.now], plan.as, w.p[i].h.dv), plan.fire),
             i, "advance")
Unchanged(i) == LET h == w.p[i].h IN
  w.head.st = "ACTIVE" /\ w.head.next = h.next /\ (PinsVersion => w.head.ver = h.ver) /\ w.head.ft = h.ft
Advance(i) == /\ w.p[i].pc = "advance"
  /\ LET plan == w.p[i].plan h == w.head
         helps == plan.fire # 0 /\ IF HelpsExact THEN h.ft = plan.fire ELSE h.ft >= plan.fire
     IN w' = IF Unchanged(i)
             THEN (IF plan.fire # 0 THEN Go(Decide(w, i), i, IF JournalFirst THEN "insert" ELSE "page")
                   ELSE IF RowWithAdvance \/ plan.over = {} THEN Stop(Decide(w, i), i) ELSE Go(Decide(w, i), i, "row"))
             ELSE IF helps THEN Go([w EXCEPT !.p[i].h = [h EXCEPT !.ft = plan.fire], !.p[i].old = w.p[i].h], i, "insert")
             ELSE Stop(w, i)
LateRow(i) == /\ w.p[i].pc \in {"row", "insert"} /\ ~RowWithAdvance /\ ~(w.p[i].plan.over \subseteq w.told)
  /\ w' = [w EXCEPT !.told = @ \cup w.p[i].plan.over, !.p[i].pc = IF @ = "row" THEN "idle" ELSE @]
InsertIt(i) == /\ w.p[i].pc = "insert"
  /\ LET h == w.p[i].h plan == w.p[i].plan IN
     w' = Go(IF HeadSays THEN InsertAsHead(w, h) ELSE Insert(w, h, plan.as, w.p[i].old.dv), i, "send")
SendIt(i) == /\ w.p[i].pc = "send" /\ w' = Stop(Send(w, w.p[i].plan.fire), i)
Die(i) == /\ w.p[i].pc # "idle" /\ (Crashes = Unlimited \/ w.crashes < Crashes)
  /\ w' = [Stop(w, i) EXCEPT !.crashes = IF Crashes = Unlimited THEN @ ELSE @ + 1, !.well[i] = FALSE,
                             !.holder = IF @ = i THEN Unlimited ELSE @]
Step(i) == Renew(i) \/ LookBack(i) \/ Journal(i) \/ Early(i) \/ Advance(i) \/ LateRow(i) \/ InsertIt(i) \/ SendIt(i)

\* ------------------------------------------------------------------ repairs: domain/repairs.py, services/resolve.py
StillOpen(h, e) == h.st = "ACTIVE" /\ h.ver = e.v /\ h.next <= e.t
Keeps(v, h, e) ==
  LET r == v.row[e.t] IN
  IF ~EndedIsLookedAfter /\ h.st = "ENDED" THEN FALSE
  ELSE IF r \in Finished THEN FALSE ELSE IF r = "QUEUED" THEN TRUE
  ELSE h.ft = e.t \/ (h.ft < e.t /\ StillOpen(h, e) /\ KeepsOpen)
Help(v, h, e) == IF v.row[e.t] = "QUEUED" THEN Send(v, e.t)
                 ELSE IF v.row[e.t] = "-" /\ h.ft = e.t THEN Send(InsertAsHead(v, h), e.t) ELSE v
Removed(v, e) == [v EXCEPT !.pages = @ \ {e}]
WatchAll(e) == LET v == IF Keeps(w, w.head, e) THEN Help(w, w.head, e) ELSE Removed(w, e)
               IN AtomicWatch /\ v # w /\ w' = v
WatchPick(e) == ~AtomicWatch /\ w.watch.pc = "idle" /\ w' = [w EXCEPT !.watch = [pc |-> "act", e |-> e, h |-> w.head]]
WatchAct == /\ w.watch.pc = "act"
  /\ LET e == w.watch.e h == w.watch.h keeps == Keeps(w, h, e) IN
     w' = [(IF keeps THEN Help(w, h, e) ELSE w) EXCEPT !.watch.pc = IF ~keeps THEN "gone" ELSE IF NewerPageFirst THEN "put" ELSE "del"]
WatchMove ==
  LET e == w.watch.e newer == [e EXCEPT !.c = 1 - @] IN
  \/ /\ w.watch.pc \in {"put", "putlast"}
     /\ w' = [w EXCEPT !.pages = @ \cup {newer}, !.watch.pc = IF @ = "put" THEN "gone" ELSE "idle"]
  \/ w.watch.pc = "del" /\ w' = [Removed(w, e) EXCEPT !.watch.pc = "putlast"]
  \/ w.watch.pc = "gone" /\ w' = [Removed(w, e) EXCEPT !.watch.pc = "idle"]
WatchDies == w.watch.pc # "idle" /\ w' = [w EXCEPT !.watch.pc = "idle"]

\* ------------------------------------------------------------------ the bucket: services/leases.py, loops/scheduler.py
\* A lease may be judged over at any time: taking a bucket needs no proof that its holder has died.
RECURSIVE HelpAll(_, _)
HelpAll(v, some) == IF some = {} THEN v ELSE LET e == CHOOSE e \in some : TRUE IN HelpAll(Help(v, v.head, e), some \ {e})
TakeBucket(i) == /\ Hands /\ w.p[i].pc = "idle" /\ w.holder # i
  /\ w' = [w EXCEPT !.holder = i, !.well[i] = w.holder = 0 /\ w.drained, !.drained = FALSE]
LookAfter(i) == /\ Hands /\ w.holder = i /\ w.p[i].pc = "idle" /\ ~w.well[i]
  /\ w' = [HelpAll(w, w.pages) EXCEPT !.well[i] = TRUE, !.pages = IF TakeOverKeeps THEN @ ELSE {}]
GiveUp(i) == /\ Hands /\ w.holder = i /\ w.p[i].pc = "idle"
  /\ w' = [w EXCEPT !.holder = 0, !.drained = w.well[i], !.well[i] = FALSE]
\* The store or the queue gave no answer: the rest of this look is left to the journal.
Fumble(i) == /\ Hands /\ w.p[i].pc \in {"insert", "send"}
  /\ w' = [Stop(w, i) EXCEPT !.well[i] = IF NotesTrouble THEN FALSE ELSE @]

\* ------------------------------------------------------------------ the worker, in one step; retention; the queue
Run(t) == /\ w.hint[t] /\ w.now >= t
  /\ w' = IF w.row[t] = "QUEUED" THEN [w EXCEPT !.row[t] = "DONE", !.hint[t] = FALSE, !.g.ran[t] = @ + 1, !.g.ended[t] = w.now]
          ELSE [w EXCEPT !.hint[t] = FALSE]
Forget(t) == Retention > 0 /\ w.row[t] = "DONE" /\ w.now > w.g.ended[t] + Retention /\ w' = [w EXCEPT !.row[t] = "-"]
Lose(t) == w.hint[t] /\ w.losses < Losses /\ w' = [w EXCEPT !.hint[t] = FALSE, !.losses = @ + 1]

Next ==
  \/ Clock \/ NewRules \/ EditRead \/ EditWrite \/ CatchIndexUp \/ WatchAct \/ WatchMove \/ WatchDies
  \/ \E i \in P : Look(i) \/ Step(i) \/ Die(i) \/ TakeBucket(i) \/ LookAfter(i) \/ GiveUp(i) \/ Fumble(i)
  \/ \E e \in w.pages : WatchAll(e) \/ WatchPick(e)
  \/ \E t \in T : Run(t) \/ Forget(t) \/ Lose(t)
Fair ==
  /\ WF_w(Clock) /\ WF_w(EditWrite) /\ WF_w(CatchIndexUp) /\ WF_w(\E e \in w.pages : WatchAll(e))
  /\ \A i \in P : WF_w(Look(i)) /\ WF_w(Step(i))
  /\ \A t \in T : WF_w(Run(t))
Spec == Init /\ [][Next]_w
FairSpec == Spec /\ Fair

\* ------------------------------------------------------------------ promises
Decided == {t \in T : w.g.as[t] # "-"}
OneExecutionPerTick == \A t \in T : w.g.ran[t] <= 1
\* Of one version: another has a schedule of its own, which begins when it counts.
NominalOnce == \A t, u \in Decided : Nominal(t) = Nominal(u) /\ w.g.dv[t] = w.g.dv[u] => t = u
NoGhostRun == ~w.g.ghost
NoSupersededRun == ~w.g.off             \* no tick is decided by a plan that an edit has ended
DecidedOnce == ~w.g.twice
BornAsDecided == ~w.g.wrong
NextMonotone == w.head.st = "ACTIVE" => w.head.next > w.head.ft
OldDecidedExists == Retention = 0 => \A t \in Decided : t < w.head.ft => w.row[t] # "-"
OwedIsListed == \A t \in Decided : (w.row[t] \notin Finished /\ w.g.ran[t] = 0) => \E e \in w.pages : e.t = t
PassedIsTold == w.g.over \subseteq w.told
NeverBoth == \A t \in Decided : t \notin w.g.over
DrainedIsDone == w.drained => \A t \in w.g.begun : w.row[t] \in Finished \/ t \in w.g.sent
FiredNeverFalls == [][w'.head.ft >= w.head.ft /\ w'.head.ver >= w.head.ver]_w
\* Once faults stop: every decided tick has ended, the job has moved on, the journal is empty, what was passed over is told.
Rests == /\ \A t \in Decided : w.row[t] \in Finished
         /\ ~(w.head.st = "ACTIVE" /\ w.head.next <= Times)
         /\ w.pages = {} /\ PassedIsTold
ComesToRest == <>[]Rests
=============================================================================
