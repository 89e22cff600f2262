-------------------------------- MODULE Stops --------------------------------
(* Cancel, pause, resume and edit of one job under `allow`, beside schedulers that decide its ticks. A request writes the     *)
(* head, then retracts: a query, a cancel for each that is unfinished, a tombstone at the last decided tick; only then it is *)
(* acknowledged. It may die anywhere and be repeated. Attempts are one step here; Attempts.tla has the rest.                 *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Schedulers, Ticks, Times, Lookahead, StaleIndex, SlowWatch, Crashes,
  Cancels, Pauses, Edits,
  Skew,                          \* how far the API's clock is from the scheduler's
  CatchesUp,                     \* resume takes the ticks that the pause held back
  LowersDeadline,                \* an edit may shorten the run deadline
  LooksBack,                     \* the execution of firedThrough exists before the next decision
  KeepsOpen,                     \* an entry that can still be decided is kept
  PinsVersion, EditPinsNext,     \* A names the version; an edit names where the job is due: each decision moves it
  PauseRaises,                   \* pause and resume raise the version
  AfterFired,                    \* resume and edit go on after all that was decided
  EditKeeps,                     \* an edit retracts nothing
  RetractsRows,                  \* what exists is cancelled
  Tombstones,                    \* what was decided and does not exist yet gets a tombstone
  TombstoneLooks,                \* a refused tombstone means that the execution exists: it is cancelled
  RepeatGoesOn,                  \* a repeated request goes on where the first was cut off
  PausesFromNext,                \* a due tick that is undecided is held back by a pause
  ResumeTells,                   \* the row of the ticks held back is in the transaction of the resume
  ReachNeverFalls                \* the retract looks back as far as any version of the job allowed
VARIABLE w
T == 1..Ticks
P == 1..Schedulers
Never == Ticks + 1
Unlimited == 99
Min(X) == CHOOSE x \in X : \A y \in X : x <= y
Max(X) == CHOOSE x \in X : \A y \in X : x >= y
On(sch) == IF sch = "all" THEN T ELSE {t \in T : t % 2 = 0}
After(sch, x) == LET later == {t \in On(sch) : t > x} IN IF later = {} THEN Never ELSE Min(later)
Deadline(dv) == IF LowersDeadline THEN (IF dv = 1 THEN 2 ELSE 0) ELSE Times
Born == [next |-> 1, ver |-> 1, st |-> "ACTIVE", ft |-> 0, fv |-> 0, dv |-> 1, sch |-> "all", paused |-> 0, reach |-> Deadline(1)]
Open == {"ACTIVE", "PAUSED"}
NoEntry == [t |-> 0, v |-> 0]
NoCall == [pc |-> "idle", kind |-> "-", h |-> Born, new |-> Born, from |-> 0, found |-> {}, told |-> {}]
Init == w = [
  now |-> 0, head |-> Born, shown |-> {Born}, row |-> [t \in T |-> "-"], rv |-> [t \in T |-> 0], hint |-> {}, pages |-> {}, told |-> {},
  p |-> [i \in P |-> [pc |-> "idle", h |-> Born]], watch |-> [pc |-> "idle", e |-> NoEntry, h |-> Born], api |-> NoCall,
  calls |-> [k \in {"cancel", "pause", "edit"} |-> 0], crashes |-> 0,
  g |-> [decided |-> {}, twice |-> FALSE, ran |-> {}, late |-> FALSE, old |-> FALSE, cancelled |-> FALSE, from |-> Unlimited,
         since |-> Unlimited, edited |-> 0, stopped |-> FALSE]]

Show(v, h) == [v EXCEPT !.head = h, !.shown = IF StaleIndex THEN @ \cup {h} ELSE {h}]
Insert(v, h) == IF h.ft = 0 \/ v.row[h.ft] # "-" THEN v ELSE [v EXCEPT !.row[h.ft] = "QUEUED", !.rv[h.ft] = h.fv]
Send(v, t) == IF v.row[t] = "QUEUED" THEN [v EXCEPT !.hint = @ \cup {t}] ELSE v
Go(v, i, pc) == [v EXCEPT !.p[i].pc = pc]
Stop(v, i) == [v EXCEPT !.p[i] = [pc |-> "idle", h |-> Born]]

\* ------------------------------------------------------------------ the scheduler: Tick.tla has more of it
Clock == w.now < Times /\ w' = [w EXCEPT !.now = @ + 1]
CatchIndexUp == w.shown # {w.head} /\ w' = [w EXCEPT !.shown = {w.head}]
Look(i) == /\ w.p[i].pc = "idle"
  /\ \E h \in w.shown : h.st = "ACTIVE" /\ h.next \in T /\ h.next <= w.now + Lookahead
                        /\ w' = [w EXCEPT !.p[i] = [pc |-> IF LooksBack THEN "back" ELSE "page", h |-> h]]
Step(i) == LET h == w.p[i].h t == h.next IN
  \/ w.p[i].pc = "back" /\ w' = Go(Insert(w, h), i, "page")
  \/ w.p[i].pc = "page" /\ w' = Go([w EXCEPT !.pages = @ \cup {[t |-> t, v |-> h.ver]}], i, "advance")
  \/ /\ w.p[i].pc = "advance"
     /\ LET same == w.head.st = "ACTIVE" /\ w.head.next = t /\ (PinsVersion => w.head.ver = h.ver)
            next == After(h.sch, t)
            new == [w.head EXCEPT !.next = next, !.ft = t, !.fv = h.dv, !.st = IF next = Never THEN "ENDED" ELSE @]
        IN w' = IF same
                THEN [Go(Show(w, new), i, "insert") EXCEPT !.p[i].h = new, !.g.decided = @ \cup {t}, !.g.twice = @ \/ t \in w.g.decided]
                ELSE IF w.head.ft = t THEN [Go(w, i, "insert") EXCEPT !.p[i].h = w.head] ELSE Stop(w, i)
  \/ w.p[i].pc = "insert" /\ w' = Go(Insert(w, h), i, "send")
  \/ w.p[i].pc = "send" /\ w' = Stop(Send(w, h.ft), i)
Dies == w.crashes < Crashes \/ Crashes = Unlimited
Died(v) == [v EXCEPT !.crashes = IF Crashes = Unlimited THEN @ ELSE @ + 1]
Die(i) == w.p[i].pc # "idle" /\ Dies /\ w' = Died(Stop(w, i))

Finished == {"DONE", "CANCELLED", "DEAD"}
Looked(v, h, e) ==
  LET r == v.row[e.t] IN
  IF r \in Finished THEN [v EXCEPT !.pages = @ \ {e}]
  ELSE IF r = "QUEUED" THEN Send(v, e.t)
  ELSE IF h.ft = e.t THEN Send(Insert(v, h), e.t)
  ELSE IF h.ft < e.t /\ h.st = "ACTIVE" /\ h.ver = e.v /\ h.next <= e.t /\ KeepsOpen THEN v ELSE [v EXCEPT !.pages = @ \ {e}]
WatchAtOnce(e) == ~SlowWatch /\ Looked(w, w.head, e) # w /\ w' = Looked(w, w.head, e)
WatchRead(e) == SlowWatch /\ w.watch.pc = "idle" /\ w' = [w EXCEPT !.watch = [pc |-> "act", e |-> e, h |-> w.head]]
WatchAct == w.watch.pc = "act" /\ w' = [Looked(w, w.watch.h, w.watch.e) EXCEPT !.watch.pc = "idle"]

\* An execution may start until its run deadline.
InTime(t) == w.now <= t + Deadline(w.rv[t])
Run(t) == /\ t \in w.hint /\ w.row[t] = "QUEUED" /\ w.now >= t /\ InTime(t)
  /\ w' = [w EXCEPT !.row[t] = "DONE", !.g.ran = @ \cup {t},
                    !.g.late = @ \/ w.g.cancelled \/ (w.head.st = "PAUSED" /\ t > w.g.from),
                    !.g.old = @ \/ (w.rv[t] < w.g.edited /\ t > w.g.since)]
Expire(t) == w.row[t] = "QUEUED" /\ ~InTime(t) /\ w' = [w EXCEPT !.row[t] = "DEAD"]

\* ------------------------------------------------------------------ requests: services/change_job.py
Nows == {n \in 0..Times + Skew : n + Skew >= w.now /\ n <= w.now + Skew}
Raised(h, raises) == [h EXCEPT !.ver = IF raises THEN @ + 1 ELSE @]
Held(h, now) == IF PausesFromNext /\ h.next \in T THEN Min({now, h.next - 1}) ELSE now
Going(h, sch, x) == LET next == After(sch, x) IN [h EXCEPT !.next = next, !.st = IF next = Never THEN "ENDED" ELSE "ACTIVE"]
Changed(kind, h, now) ==
  CASE kind = "cancel" -> [Raised(h, TRUE) EXCEPT !.st = "CANCELLED", !.next = 0]
    [] kind = "pause" -> [Raised(h, PauseRaises) EXCEPT !.st = "PAUSED", !.next = 0, !.paused = Held(h, now)]
    [] kind = "resume" ->
         LET floor == IF AfterFired THEN h.ft ELSE 0
             from == IF CatchesUp THEN Max({floor, h.paused}) ELSE Max({now, floor})
         IN Going(Raised(h, PauseRaises), h.sch, from)
    [] kind \in {"edit all", "edit even"} ->
         LET sch == IF kind = "edit all" THEN "all" ELSE "even"
             new == [Raised(h, TRUE) EXCEPT !.dv = @ + 1, !.sch = sch,
                       !.reach = IF ReachNeverFalls THEN Max({@, Deadline(h.dv + 1)}) ELSE Deadline(h.dv + 1)]
         IN IF h.st = "PAUSED" \/ h.next <= now THEN new ELSE Going(new, sch, IF AfterFired THEN Max({now, h.ft}) ELSE now)
Pins(kind) == kind # "cancel" /\ (kind \in {"edit all", "edit even"} => EditPinsNext)
\* A repeat finds its status written, and goes on with the retract.
Repeats(kind, h) == (kind = "cancel" /\ h.st = "CANCELLED") \/ (kind = "pause" /\ h.st = "PAUSED")
Asked(kind) == IF kind \in {"edit all", "edit even"} THEN "edit" ELSE IF kind = "resume" THEN "pause" ELSE kind
Allowed(kind) ==
  CASE kind = "cancel" -> w.calls["cancel"] < Cancels /\ w.head.st \in Open \cup {"CANCELLED"}
    [] kind = "pause" -> w.calls["pause"] < Pauses /\ w.head.st \in Open
    [] kind = "resume" -> w.head.st = "PAUSED" /\ Pauses > 0
    [] OTHER -> w.calls["edit"] < Edits /\ w.head.st \in Open
Ask == /\ w.api.pc = "idle"
  /\ \E kind \in {"cancel", "pause", "resume", "edit all", "edit even"}, now \in Nows :
     /\ Allowed(kind)
     /\ LET h == w.head
            new == Changed(kind, h, now)
            from == IF kind = "pause" THEN (IF h.st = "PAUSED" THEN h.paused ELSE new.paused) ELSE IF kind = "cancel" THEN 0 ELSE Max({now, h.ft})
            held == IF kind = "resume" /\ ~CatchesUp THEN {t \in On(h.sch) : t > Max({h.ft, h.paused}) /\ t <= now} ELSE {}
            pc == IF ~Repeats(kind, h) THEN "write" ELSE IF RepeatGoesOn THEN "query" ELSE "answer"
        IN w' = [w EXCEPT !.api = [pc |-> pc, kind |-> kind, h |-> h, new |-> IF pc = "write" THEN new ELSE h, from |-> from, found |-> {},
                                   told |-> held],
                          !.calls[Asked(kind)] = IF kind = "resume" THEN @ ELSE @ + 1]
Write == /\ w.api.pc = "write"
  /\ LET c == w.api h == c.h
         may == w.head.ver = h.ver /\ w.head.st = h.st /\ (Pins(c.kind) => w.head.next = h.next)
         new == [c.new EXCEPT !.ft = w.head.ft, !.fv = w.head.fv]
         retracts == c.kind \in {"cancel", "pause"} \/ (~EditKeeps /\ c.kind # "resume")
         v == Show(w, new)
     IN w' = IF ~may THEN [w EXCEPT !.api = NoCall]
             ELSE [v EXCEPT !.api.new = new, !.api.pc = IF retracts THEN "query" ELSE "answer",
                            !.told = IF ResumeTells THEN @ \cup c.told ELSE @,
                            !.g.from = IF c.kind = "resume" THEN Unlimited ELSE @,
                            !.g.stopped = @ \/ c.kind \in {"cancel", "pause"}]
Seen(t) == w.now <= t + w.api.new.reach
Query == /\ w.api.pc = "query"
  /\ w' = [w EXCEPT !.api.pc = "kill",
                    !.api.found = IF RetractsRows THEN {t \in T : w.row[t] = "QUEUED" /\ t > w.api.from /\ Seen(t)} ELSE {}]
Cancelled(v, ts) == [v EXCEPT !.row = [t \in T |-> IF t \in ts /\ @[t] = "QUEUED" THEN "CANCELLED" ELSE @[t]]]
Kill == w.api.pc = "kill" /\ w' = [Cancelled(w, w.api.found) EXCEPT !.api.pc = "tombstone"]
Tombstone == /\ w.api.pc = "tombstone"
  /\ LET t == w.api.new.ft
         due == Tombstones /\ t > w.api.from
         v == IF ~due THEN w ELSE IF w.row[t] = "-" THEN [w EXCEPT !.row[t] = "CANCELLED"] ELSE IF TombstoneLooks THEN Cancelled(w, {t}) ELSE w
     IN w' = [v EXCEPT !.api.pc = "answer"]
Answer == /\ w.api.pc = "answer"
  /\ LET c == w.api IN
     w' = [w EXCEPT !.api = NoCall, !.g.cancelled = @ \/ c.kind = "cancel",
                    !.g.from = IF c.kind = "pause" /\ w.head.st = "PAUSED" THEN c.from ELSE @,
                    !.g.edited = IF c.kind \in {"edit all", "edit even"} THEN c.new.dv ELSE @,
                    !.g.since = IF c.kind \in {"edit all", "edit even"} THEN Max({c.from, IF c.h.next <= c.from THEN c.h.next ELSE 0}) ELSE @]
CallDies == w.api.pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.api = NoCall])
Call == Write \/ Query \/ Kill \/ Tombstone \/ Answer

Next ==
  \/ Clock \/ CatchIndexUp \/ WatchAct \/ Ask \/ Call \/ CallDies
  \/ \E i \in P : Look(i) \/ Step(i) \/ Die(i)
  \/ \E e \in w.pages : WatchAtOnce(e) \/ WatchRead(e)
  \/ \E t \in T : Run(t) \/ Expire(t)
Fair ==
  /\ WF_w(Clock) /\ WF_w(CatchIndexUp) /\ WF_w(Call) /\ WF_w(\E e \in w.pages : WatchAtOnce(e))
  /\ \A i \in P : WF_w(Look(i)) /\ WF_w(Step(i))
  /\ \A t \in T : WF_w(Run(t)) /\ WF_w(Expire(t))
Spec == Init /\ [][Next]_w
FairSpec == Spec /\ Fair

\* ------------------------------------------------------------------ promises
NoStartAfterStopAck == ~w.g.late        \* after a cancel's answer nothing starts; after a pause's, no tick later than the pause
NoSupersededRun == ~w.g.old             \* after an edit's answer no later tick runs with an older definition
DecidedOnce == ~w.g.twice
NextMonotone == w.head.st = "ACTIVE" => w.head.next > w.head.ft
OldDecidedExists == \A t \in w.g.decided : t < w.head.ft => w.row[t] # "-"
OwedIsListed == \A t \in w.g.decided : w.row[t] \notin Finished => \E e \in w.pages : e.t = t
EditKeepsDecided == ~w.g.stopped => \A t \in T : w.row[t] # "CANCELLED"
TickAccounted == (w.g.edited = 0 /\ w.calls["edit"] = 0 /\ w.head.st \in {"ACTIVE", "ENDED"}) =>
                   \A t \in T : t < w.head.next => t \in w.g.decided \cup w.told
FiredNeverFalls == [][w'.head.ft >= w.head.ft /\ w'.head.ver >= w.head.ver]_w
CancelledIsFinal == [][w.head.st = "CANCELLED" => w'.head.st = "CANCELLED"]_w
Rests == /\ \A t \in w.g.decided : w.row[t] \in Finished
         /\ ~(w.head.st = "ACTIVE" /\ w.head.next <= Times) /\ w.pages = {}
ComesToRest == <>[]Rests
=============================================================================
