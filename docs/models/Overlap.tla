------------------------------- MODULE Overlap -------------------------------
(* One job with an overlap policy. `skip` and `allow` as built; `queue` and `replace` as designed. head.act names the        *)
(* execution and generation that occupy the job; nobody clears it: it is compared with one that a strong read has shown      *)
(* ended. Executions are the ticks 1..Ticks and one run on request, Asked. Ends may owe the effect *active*: promote the next. *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Policy, Ticks, Schedulers, Settlers, Bound, Lookahead, Dying, Requests, Redrives, Cancels, JobCancels, Crashes, Losses,
  HeadSays,                      \* I writes the verdict of the head, not the caller's own
  PinsActive,                    \* A names the `active` that its verdict was taken from
  Generations,                   \* `active` names a generation
  JudgesInTime,                  \* busy ahead of the tick's time is looked at again at its time
  ChecksBusy,                    \* whoever waits checks, in the same transaction, that the active one is unfinished
  KeepsWaiting,                  \* the watch keeps who waits, and promotes where the active one has ended
  EndsOwe,                       \* every end owes *active*, by whomever it is written
  Resends,                       \* the effect, done again, sends the promoted one again
  FirstComeFirst,                \* nobody takes the job while somebody waits
  CancelCounts,                  \* who is cancelled while waiting leaves the count, in the same transaction
  SuccessorWaits,                \* `replace`: the successor starts when the cancelled one has ended
  RequestInside,                 \* the run on request and its place in the head are one transaction
  Abandons,                      \* a request that never came gets a tombstone before its entry goes
  ChecksOpen,                    \* a run on request under `allow` checks in its transaction that the job is open
  RedriveOccupies                \* a redrive takes the job as a tick does
VARIABLE w
Asked == Ticks + 1
X == 1..Asked
P == 1..Schedulers
F == 1..Settlers
Unlimited == 99
Ends == {"DONE", "DEAD", "CANCELLED", "SKIPPED"}
Occupying == {"QUEUED", "RUNNING", "CANCELLING"}
Nobody == [x |-> 0, gen |-> 0]
Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Born == [next |-> 1, st |-> "ACTIVE", ver |-> 1, act |-> Nobody, waiting |-> 0, as |-> "-", ft |-> 0]
Idle == [pc |-> "idle", h |-> Born, t |-> 0, now |-> 0, busy |-> FALSE]
Still == [pc |-> "idle", x |-> 0, gen |-> 0, h |-> Born, next |-> 0]
Init == w = [
  now |-> 0, head |-> Born, st |-> [x \in X |-> "-"], gen |-> [x \in X |-> 1], owed |-> {}, code |-> {}, hints |-> {}, pages |-> {},
  p |-> [i \in P |-> Idle], f |-> [i \in F |-> Still], q |-> Idle, d |-> Idle, stop |-> "idle",
  requests |-> 0, redrives |-> 0, cancels |-> 0, crashes |-> 0, losses |-> 0,
  g |-> [end |-> [x \in X |-> Unlimited], as |-> [x \in X |-> "-"], skip |-> FALSE, overtaken |-> FALSE, wrong |-> FALSE, after |-> FALSE,
         acked |-> FALSE]]
Key(v, x) == [x |-> x, gen |-> v.gen[x]]
Same(a, b) == IF Generations THEN a = b ELSE a.x = b.x
Waits(v) == {x \in X : v.st[x] = "WAITING"}
Owing == Policy \in {"queue", "replace"}
End(v, x, st) == [v EXCEPT !.st[x] = st, !.code = @ \ {x}, !.g.end[x] = v.now,
                           !.owed = IF Owing /\ st \in {"DONE", "DEAD", "CANCELLED"} THEN @ \cup {x} ELSE @]
Dies == w.crashes < Crashes \/ Crashes = Unlimited
Died(v) == [v EXCEPT !.crashes = IF Crashes = Unlimited THEN @ ELSE @ + 1]
Send(v, x) == IF v.st[x] = "QUEUED" THEN [v EXCEPT !.hints = @ \cup {x}] ELSE v
\* Whether the run that `a` names is unfinished, as a strong read shows it; one that is absent and decided may yet come.
Busy(v, a) == Policy # "allow" /\ a.x # 0 /\ v.st[a.x] \notin Ends /\ (Generations => v.gen[a.x] = a.gen)

\* ------------------------------------------------------------------ the scheduler
Clock == w.now < Ticks /\ w' = [w EXCEPT !.now = @ + 1]
Go(v, i, pc) == [v EXCEPT !.p[i].pc = pc]
Stop(v, i) == [v EXCEPT !.p[i] = Idle]
Born1(v, h, x, as) == IF x = 0 \/ v.st[x] # "-" THEN v
  ELSE LET u == [v EXCEPT !.g.wrong = @ \/ as # v.g.as[x]]
       IN IF as = "RUN" THEN [u EXCEPT !.st[x] = "QUEUED"] ELSE End(u, x, "SKIPPED")
Look(i) == /\ w.p[i].pc = "idle" /\ w.head.st = "ACTIVE" /\ w.head.next <= Ticks /\ w.head.next <= w.now + Lookahead
  /\ w' = [Go(Born1(w, w.head, w.head.ft, w.head.as), i, "peek") EXCEPT !.p[i].h = w.head, !.p[i].t = w.head.next, !.p[i].now = w.now]
Peek(i) == /\ w.p[i].pc = "peek"
  /\ LET busy == Busy(w, w.p[i].h.act) IN
     w' = IF busy /\ JudgesInTime /\ w.p[i].now < w.p[i].t THEN Stop(w, i)
          ELSE [Go(w, i, "advance") EXCEPT !.p[i].busy = busy, !.pages = @ \cup {w.p[i].t}]
Fires(v, t, as) == [v EXCEPT !.head.next = t + 1, !.head.ft = t, !.head.as = as, !.g.as[t] = as]
Advance(i) == /\ w.p[i].pc = "advance"
  /\ LET t == w.p[i].t h == w.head a == h.act.x
         same == h.st = "ACTIVE" /\ h.next = t /\ (Policy = "allow" \/ Same(h.act, w.p[i].h.act) \/ ~PinsActive)
         takes == [Fires(w, t, "RUN") EXCEPT !.head.act = Key(w, t), !.g.overtaken = @ \/ Waits(w) # {}]
         skips == [Go(Fires(w, t, "SKIP"), i, "insert") EXCEPT !.g.skip = @ \/ w.g.end[a] < t]
         waits == [Stop(Fires(w, t, "WAIT"), i) EXCEPT !.st[t] = "WAITING"]
         ended == a # 0 /\ w.st[a] \in Ends
     IN w' = IF ~same THEN (IF h.ft = t THEN Go(w, i, "insert") ELSE Stop(w, i))
             ELSE IF Policy = "allow" THEN Go(Fires(w, t, "RUN"), i, "insert")
             ELSE IF ~w.p[i].busy THEN (IF Owing /\ FirstComeFirst /\ h.waiting > 0 THEN Stop(w, i) ELSE Go(takes, i, "insert"))
             ELSE IF Policy = "skip" \/ (Policy = "queue" /\ h.waiting >= Bound) THEN skips
             ELSE IF ChecksBusy /\ ended THEN Stop(w, i)
             ELSE IF Policy = "queue" THEN [waits EXCEPT !.head.waiting = @ + 1]
             ELSE \* replace: the newest waits, the cancel of the active one is an item of this transaction
               LET v == [waits EXCEPT !.st = [x \in X |-> IF x = t THEN "WAITING" ELSE IF w.st[x] = "WAITING" THEN "SKIPPED"
                                                ELSE IF x = a /\ w.st[x] = "RUNNING" THEN "CANCELLING" ELSE w.st[x]], !.head.waiting = 1]
               IN IF w.st[a] = "QUEUED" THEN End(v, a, "CANCELLED")
                  ELSE IF SuccessorWaits THEN v
                  ELSE [v EXCEPT !.st[t] = "QUEUED", !.head.act = Key(w, t), !.head.waiting = 0, !.hints = @ \cup {t}]
InsertIt(i) == /\ w.p[i].pc = "insert"
  /\ LET t == w.p[i].t
         own == IF w.p[i].busy THEN "SKIP" ELSE "RUN"
         as == IF HeadSays \/ w.head.ft # t THEN (IF w.head.ft = t THEN w.head.as ELSE w.g.as[t]) ELSE own
     IN w' = Go(IF as = "WAIT" THEN w ELSE Born1(w, w.head, t, as), i, "send")
SendIt(i) == w.p[i].pc = "send" /\ w' = Stop(Send(w, w.p[i].t), i)
Die(i) == w.p[i].pc # "idle" /\ Dies /\ w' = Died(Stop(w, i))
Step(i) == Peek(i) \/ Advance(i) \/ InsertIt(i) \/ SendIt(i)

\* ------------------------------------------------------------------ a run on request: services/run_now.py
Request ==
  \/ w.q.pc = "idle" /\ w.requests < Requests /\ w' = [w EXCEPT !.q = [@ EXCEPT !.pc = "peek", !.h = w.head], !.requests = @ + 1]
  \/ /\ w.q.pc = "peek"
     /\ w' = IF w.q.h.st = "ACTIVE" /\ ~Busy(w, w.q.h.act) THEN [w EXCEPT !.q.pc = "page"] ELSE [w EXCEPT !.q = Idle]
  \/ w.q.pc = "page" /\ w' = [w EXCEPT !.q.pc = "write", !.pages = @ \cup {Asked}]
  \/ /\ w.q.pc = "write"
     /\ LET h == w.head
            open == h.st = "ACTIVE" /\ h.ver = w.q.h.ver
            free == IF Policy = "allow" THEN (open \/ ~ChecksOpen) ELSE open /\ Same(h.act, w.q.h.act) /\ (Owing => h.waiting = 0)
            takes == IF Policy = "allow" THEN w ELSE [w EXCEPT !.head.act = Key(w, Asked)]
        IN w' = IF ~free \/ w.st[Asked] # "-" THEN [w EXCEPT !.q = Idle]
                ELSE IF RequestInside THEN [takes EXCEPT !.st[Asked] = "QUEUED", !.q.pc = "send"] ELSE [takes EXCEPT !.q.pc = "late"]
  \/ w.q.pc = "late" /\ w' = [w EXCEPT !.st[Asked] = IF @ = "-" THEN "QUEUED" ELSE @, !.q.pc = "send"]
  \/ w.q.pc = "send" /\ w' = [Send(w, Asked) EXCEPT !.q = Idle]
RequestDies == w.q.pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.q = Idle])

\* ------------------------------------------------------------------ workers, cancels
Claim(x) == /\ x \in w.hints /\ w.st[x] = "QUEUED" /\ (x = Asked \/ w.now >= x)
  /\ w' = [w EXCEPT !.st[x] = "RUNNING", !.code = @ \cup {x}, !.g.after = @ \/ w.g.acked]
Finish(x) == x \in w.code /\ w.st[x] = "RUNNING" /\ \E st \in (IF Dying THEN {"DONE", "DEAD"} ELSE {"DONE"}) : w' = End(w, x, st)
Stopped(x) == x \in w.code /\ w.st[x] = "CANCELLING" /\ w' = End(w, x, "CANCELLED")
WorkerDies(x) == x \in w.code /\ Dies /\ w' = Died([w EXCEPT !.code = @ \ {x}])
Reap(x) == /\ w.st[x] \in {"RUNNING", "CANCELLING"} /\ x \notin w.code /\ (x \in w.pages \/ x \in w.hints)
  /\ w' = End(w, x, IF w.st[x] = "RUNNING" THEN "DEAD" ELSE "CANCELLED")
Delete(x) == x \in w.hints /\ w.st[x] \in Ends /\ x \notin w.owed /\ w' = [w EXCEPT !.hints = @ \ {x}]
Lose(x) == x \in w.hints /\ w.losses < Losses /\ w' = [w EXCEPT !.hints = @ \ {x}, !.losses = @ + 1]
Unowed(v, x) == IF EndsOwe THEN v ELSE [v EXCEPT !.owed = @ \ {x}]
Cancelled(v, x) ==
  CASE v.st[x] = "QUEUED" -> Unowed(End(v, x, "CANCELLED"), x)
    [] v.st[x] = "RUNNING" -> [v EXCEPT !.st[x] = "CANCELLING"]
    [] v.st[x] = "WAITING" -> [End(v, x, "CANCELLED") EXCEPT !.owed = v.owed, !.head.waiting = IF CancelCounts THEN @ - 1 ELSE @]
    [] OTHER -> v
Cancel(x) == w.cancels < Cancels /\ w.st[x] \in {"QUEUED", "RUNNING", "WAITING"} /\ w' = [Cancelled(w, x) EXCEPT !.cancels = @ + 1]
\* The whole job: Stops.tla has the steps; here the retract is one.
RECURSIVE CancelledAll(_, _)
CancelledAll(v, some) == IF some = {} THEN v ELSE LET x == CHOOSE x \in some : TRUE IN CancelledAll(Cancelled(v, x), some \ {x})
CancelJob ==
  \/ w.stop = "idle" /\ JobCancels > 0 /\ w.head.st = "ACTIVE" /\ w' = [w EXCEPT !.head.st = "CANCELLED", !.head.ver = @ + 1, !.stop = "retract"]
  \/ /\ w.stop = "retract"
     /\ LET v == CancelledAll(w, X) IN
        w' = [v EXCEPT !.stop = "done", !.g.acked = TRUE, !.st[v.head.ft] = IF v.head.ft # 0 /\ v.st[v.head.ft] = "-" THEN "CANCELLED" ELSE @]

\* ------------------------------------------------------------------ settle: the effect *active*
Heals(x) == KeepsWaiting /\ w.head.waiting > 0 /\ w.head.act.x = x /\ \E y \in Waits(w) : y \in w.pages
Settle(i) ==
  \/ /\ w.f[i].pc = "idle"
     /\ \E x \in X : /\ w.st[x] \in Ends /\ ((x \in w.owed /\ (x \in w.hints \/ x \in w.pages)) \/ Heals(x))
                     /\ w' = [w EXCEPT !.f[i] = [Still EXCEPT !.pc = "read", !.x = x, !.gen = w.gen[x]]]
  \/ /\ w.f[i].pc = "read"
     /\ LET h == w.head me == Same(h.act, [x |-> w.f[i].x, gen |-> w.f[i].gen]) IN
        w' = IF me THEN (IF h.waiting = 0 THEN [w EXCEPT !.f[i].pc = "strike"]
                         ELSE IF Waits(w) = {} THEN [w EXCEPT !.f[i] = Still]
                         ELSE [w EXCEPT !.f[i].pc = "promote", !.f[i].h = h, !.f[i].next = Min(Waits(w))])
             ELSE IF Resends /\ h.act.x # 0 /\ w.st[h.act.x] = "QUEUED" THEN [w EXCEPT !.f[i].pc = "tell", !.f[i].next = h.act.x]
             ELSE [w EXCEPT !.f[i].pc = "strike"]
  \/ /\ w.f[i].pc = "promote"
     /\ LET y == w.f[i].next may == w.head.act = w.f[i].h.act /\ w.head.waiting > 0 /\ w.st[y] = "WAITING" IN
        w' = IF may THEN [w EXCEPT !.head.act = Key(w, y), !.head.waiting = @ - 1, !.st[y] = "QUEUED", !.f[i].pc = "tell"]
             ELSE [w EXCEPT !.f[i].pc = "read"]
  \/ w.f[i].pc = "tell" /\ w' = [Send(w, w.f[i].next) EXCEPT !.f[i].pc = "strike"]
  \/ /\ w.f[i].pc = "strike"
     /\ LET x == w.f[i].x IN
        w' = [w EXCEPT !.owed = IF w.gen[x] = w.f[i].gen /\ w.st[x] \in Ends THEN @ \ {x} ELSE @, !.f[i] = Still]
SettlerDies(i) == w.f[i].pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.f[i] = Still])

\* ------------------------------------------------------------------ redrive: services/redrive.py
Redrive ==
  \/ /\ w.d.pc = "idle" /\ w.redrives < Redrives
     /\ \E x \in X : w.st[x] = "DEAD" /\ w' = [w EXCEPT !.d = [Idle EXCEPT !.pc = "peek", !.t = x, !.h = w.head], !.redrives = @ + 1]
  \/ w.d.pc = "peek" /\ w' = IF Busy(w, w.d.h.act) THEN [w EXCEPT !.d = Idle] ELSE [w EXCEPT !.d.pc = "write"]
  \/ /\ w.d.pc = "write"
     /\ LET x == w.d.t
            free == Policy = "allow" \/ (Same(w.head.act, w.d.h.act) /\ (Owing => w.head.waiting = 0)) \/ ~RedriveOccupies
            may == w.st[x] = "DEAD" /\ x \notin w.owed /\ w.head.st = "ACTIVE" /\ free
            v == [w EXCEPT !.st[x] = "QUEUED", !.gen[x] = @ + 1, !.g.end[x] = Unlimited, !.pages = @ \cup {x}, !.d.pc = "send"]
        IN w' = IF ~may THEN [w EXCEPT !.d = Idle]
                ELSE IF Policy = "allow" \/ ~RedriveOccupies THEN v ELSE [v EXCEPT !.head.act = Key(v, x)]
  \/ w.d.pc = "send" /\ w' = [Send(w, w.d.t) EXCEPT !.d = Idle]
RedriverDies == w.d.pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.d = Idle])

\* ------------------------------------------------------------------ the watch
Dropped(v, x) == [v EXCEPT !.pages = @ \ {x}]
Looked(x) ==
  LET s == w.st[x] IN
  IF s \in Ends THEN (IF x \in w.owed THEN w ELSE Dropped(w, x))
  ELSE IF s = "QUEUED" THEN Send(w, x)
  ELSE IF s = "WAITING" THEN (IF KeepsWaiting THEN w ELSE Dropped(w, x))
  ELSE IF s # "-" THEN w
  ELSE IF x = Asked THEN Dropped(IF Abandons THEN [End(w, x, "CANCELLED") EXCEPT !.owed = w.owed] ELSE w, x)
  ELSE IF w.head.ft = x THEN Born1(w, w.head, x, w.head.as)
  ELSE IF w.head.ft > x \/ w.head.st # "ACTIVE" THEN Dropped(w, x) ELSE w
Watch(x) == x \in w.pages /\ Looked(x) # w /\ w' = Looked(x)

Next ==
  \/ Clock \/ Request \/ RequestDies \/ CancelJob \/ Redrive \/ RedriverDies
  \/ \E i \in P : Look(i) \/ Step(i) \/ Die(i)
  \/ \E i \in F : Settle(i) \/ SettlerDies(i)
  \/ \E x \in X : Claim(x) \/ Finish(x) \/ Stopped(x) \/ WorkerDies(x) \/ Reap(x) \/ Delete(x) \/ Lose(x) \/ Cancel(x) \/ Watch(x)
Fair ==
  /\ WF_w(Clock) /\ WF_w(w.q.pc # "idle" /\ Request) /\ WF_w(w.d.pc # "idle" /\ Redrive) /\ WF_w(w.stop = "retract" /\ CancelJob)
  /\ \A i \in P : WF_w(Look(i) \/ Step(i))
  /\ \A i \in F : WF_w(Settle(i))
  /\ WF_w(\E x \in X : Claim(x) \/ Finish(x) \/ Stopped(x) \/ Reap(x) \/ Delete(x) \/ Watch(x))
Spec == Init /\ [][Next]_w
FairSpec == Spec /\ Fair

\* ------------------------------------------------------------------ promises
OverlapPolicy == Policy # "allow" => Cardinality({x \in X : w.st[x] \in Occupying}) <= 1
OneCodeAtATime == Policy # "allow" => Cardinality(w.code) <= 1
ActiveNamesIt == Policy # "allow" => \A x \in X : w.st[x] \in Occupying => w.head.act = Key(w, x)
NoFalseSkip == ~w.g.skip                \* no tick is skipped for a run that had ended before the tick's time
FifoOrder == Policy = "queue" => ~w.g.overtaken
WaitingExact == w.head.waiting = Cardinality(Waits(w))
BornAsDecided == ~w.g.wrong
NoStartAfterCancelAck == ~w.g.after
OwedIsListed == \A x \in X : (w.st[x] \in Occupying \cup {"WAITING"} \/ x \in w.owed) => x \in w.pages
NoFalseHold == w.head.act.x = 0 \/ w.st[w.head.act.x] # "-" \/ w.head.act.x \in w.pages
Rests == /\ \A x \in X : w.st[x] \in Ends \cup {"-"}
         /\ w.owed = {} /\ w.pages = {} /\ (w.head.st = "CANCELLED" \/ w.head.next > Ticks)
ComesToRest == <>[]Rests
=============================================================================
