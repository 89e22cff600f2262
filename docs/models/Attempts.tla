------------------------------ MODULE Attempts ------------------------------
(* One execution from QUEUED to settled: claim, heartbeat, report, retry, give back, retry later, the waiting index, reap,  *)
(* expire, cancel, settle, redrive. Workers, the watch, the releaser and the API stop between any two writes, and may die.  *)
(* A lease may be judged over at any time (`SlowHolders`), since nobody's clock is trusted. Pages are named after what put  *)
(* them, and when: the entry of the execution stands on each of them by itself, and none is another that came later.       *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Workers, Attempts, Epochs,     \* how many workers; attempts a generation; where the walk ends
  SlowHolders, SlowWatch, Long,  \* a live holder's lease may run out; the watch acts on what it read; retries may be long
  Deadline, Asks, GiveBacks, Heartbeats, Hangs, Cancels, Redrives, Deaths, Losses, LostReplies,
  CountsAtClaim,                 \* an attempt counts when it is claimed, not when it fails
  ClaimsWhenDue,                 \* a retry is claimed at its time, not before
  ClaimsReleased,                \* a retry is claimed only when it has left the waiting index
  ClaimsOnlyRunning,             \* of the leases that are over only a RUNNING one's is taken
  FencesResult,                  \* a result names the epoch
  Tokens,                        \* who claims again after a lost reply knows its own claim
  HeartbeatsEnd,                 \* no heartbeat after the attempt's deadline
  AsksSeldom,                    \* user code may ask to be tried later only so often
  ReapsSeenLease,                \* a reap names the very lease that was judged
  ReapsStopping,                 \* what was asked to stop and whose lease is over ends
  CancelSeesState,               \* a cancel names state and epoch as seen
  KeepsRetry,                    \* a short retry stays in the journal
  ReleasePagesFirst,             \* a page is written before a retry leaves the waiting index
  ExpiresOffIndex,               \* what stands on the waiting index is not expired: its page may be gone
  KeepsDueWaiting,               \* the watch keeps an entry whose retry is due, though it still stands on the waiting index
  LettersFirst,                  \* the letter goes out before `owed` is struck
  StrikesEpoch,                  \* the strike names the epoch that was settled
  RedriveWaits,                  \* only what owes nothing is redriven
  RedriveRaises,                 \* a redrive raises the epoch
  RedrivePage                    \* its page is written "inside" its transaction | "before" it
VARIABLE w
P == 1..Workers
Unlimited == 99
\* The page of the tick, that of the release at an epoch, that of the redrive to a generation.
Tick == 0
ReleaseOf(ep) == ep
RedriveTo(gen) == 100 + gen
Terminal == {"SUCCEEDED", "DEAD", "CANCELLED"}
Fresh == [st |-> "QUEUED", ep |-> 0, att |-> 0, max |-> Attempts, gen |-> 1, lease |-> 0, over |-> FALSE, wk |-> FALSE, due |-> FALSE,
          owed |-> FALSE, asked |-> 0]
Idle == [pc |-> "idle", ep |-> 0, gen |-> 0, hung |-> FALSE]
Init == w = [
  x |-> Fresh, pages |-> {Tick}, hints |-> 1, late |-> FALSE, p |-> [i \in P |-> Idle],
  watch |-> [pc |-> "idle", k |-> Tick, x |-> Fresh], rel |-> [pc |-> "idle", ep |-> 0], api |-> [pc |-> "idle", st |-> "-", ep |-> 0],
  rd |-> "idle", asks |-> 0, backs |-> 0, beats |-> 0, hangs |-> 0, cancels |-> 0, redrives |-> 0, deaths |-> 0, losses |-> 0, lost |-> 0,
  g |-> [starts |-> 0, results |-> 0, stale |-> FALSE, early |-> FALSE, cut |-> FALSE, live |-> FALSE, burnt |-> FALSE, acked |-> FALSE,
         after |-> FALSE, letters |-> {}]]

\* ------------------------------------------------------------------ what each write does: domain/changes
NoLease(x) == [x EXCEPT !.over = FALSE]
Dead(x) == [NoLease(x) EXCEPT !.st = "DEAD", !.owed = TRUE, !.wk = FALSE, !.due = FALSE]
Ended(x, st) == [NoLease(x) EXCEPT !.st = st, !.wk = FALSE, !.due = FALSE]
Retry(x, long) == [NoLease(x) EXCEPT !.st = "RETRY", !.wk = long, !.due = FALSE]
Failed(x, late, long) ==
  LET y == IF CountsAtClaim THEN x ELSE [x EXCEPT !.att = @ + 1]
  IN IF y.att < y.max /\ ~late THEN Retry(y, long) ELSE Dead(y)
Longs == IF Long THEN {TRUE, FALSE} ELSE {FALSE}
Claimable(x) == /\ x.att < x.max
  /\ \/ x.st = "QUEUED" \/ (x.st = "RETRY" /\ (x.due \/ ~ClaimsWhenDue) /\ (x.wk => ~ClaimsReleased))
     \/ (x.st \in (IF ClaimsOnlyRunning THEN {"RUNNING"} ELSE {"RUNNING", "CANCELLING"}) /\ x.over)
Claimed(x) == [x EXCEPT !.st = "RUNNING", !.ep = @ + 1, !.att = IF CountsAtClaim THEN @ + 1 ELSE @, !.lease = @ + 1, !.over = FALSE,
                        !.wk = FALSE, !.due = FALSE]
Reaped(x, late, long) == IF x.st = "CANCELLING" THEN Ended(x, "CANCELLED") ELSE Failed(x, late, long)
Reapable(x) == x.over /\ (x.st = "RUNNING" \/ (x.st = "CANCELLING" /\ ReapsStopping))

Go(v, i, pc) == [v EXCEPT !.p[i].pc = pc]
Leave(v, i) == [v EXCEPT !.p[i] = Idle]
Tell(v) == [v EXCEPT !.hints = IF @ < 2 THEN @ + 1 ELSE @]
Forget(v) == [v EXCEPT !.hints = IF @ > 0 THEN @ - 1 ELSE @]
\* After a write of worker i: a retry is told of, a death is lettered, else the hint goes.
Follow(v, i) == IF v.x.st = "RETRY" THEN Go(v, i, IF v.x.wk THEN "del" ELSE "tell")
                ELSE IF v.x.st = "DEAD" THEN [v EXCEPT !.p[i].pc = "letter", !.p[i].ep = v.x.ep, !.p[i].gen = v.x.gen] ELSE Go(v, i, "del")

\* ------------------------------------------------------------------ a worker: services/claim.py, report.py, settle.py
Receive(i) == w.p[i].pc = "idle" /\ w.hints > 0 /\ w' = Go(w, i, "got")
Claim(i) == /\ w.p[i].pc = "got" /\ Claimable(w.x) /\ w.x.ep < Epochs
  /\ LET x == Claimed(w.x)
         v == [w EXCEPT !.x = x, !.p[i] = [Idle EXCEPT !.pc = "run", !.ep = x.ep],
                        !.g.early = @ \/ (w.x.st = "RETRY" /\ ~w.x.due), !.g.after = @ \/ w.g.acked]
     IN \/ w' = [v EXCEPT !.g.starts = @ + 1]
        \/ w.lost < LostReplies /\ w' = [Go(v, i, "again") EXCEPT !.lost = @ + 1]
\* The same claim is sent again by the client of the store, and refused.
Again(i) == /\ w.p[i].pc = "again"
  /\ LET won == w.x.st = "RUNNING" /\ w.x.ep = w.p[i].ep IN
     w' = IF won /\ Tokens THEN [Go(w, i, "run") EXCEPT !.g.starts = @ + 1] ELSE [Leave(w, i) EXCEPT !.g.burnt = @ \/ won]
Refused(i) == /\ w.p[i].pc = "got" /\ ~Claimable(w.x)
  /\ LET x == w.x IN
     \/ x.st \in Terminal /\ w' = IF x.owed THEN Follow(w, i) ELSE Go(w, i, "del")
     \/ x.st \in {"QUEUED", "RETRY"} /\ w.late /\ (x.wk => ~ExpiresOffIndex) /\ w' = Follow([w EXCEPT !.x = Dead(x)], i)
     \/ Reapable(x) /\ \E long \in Longs : w' = Follow([w EXCEPT !.x = Reaped(x, w.late, long)], i)
     \/ x.st = "RETRY" /\ (~w.late \/ (x.wk /\ ExpiresOffIndex)) /\ w' = IF x.wk THEN Go(w, i, "del") ELSE Leave(w, i)
     \/ x.st \in {"RUNNING", "CANCELLING"} /\ ~Reapable(x) /\ w' = Leave(w, i)
Holds(i) == w.x.st = "RUNNING" /\ (w.x.ep = w.p[i].ep \/ ~FencesResult)
Stopped(i) == /\ w.p[i].pc = "run" /\ ~Holds(i)
  /\ w' = IF w.x.st = "CANCELLING" /\ w.x.ep = w.p[i].ep THEN Go([w EXCEPT !.x = Ended(w.x, "CANCELLED")], i, "del") ELSE Leave(w, i)
Reports(i) == w.p[i].pc = "run" /\ ~w.p[i].hung /\ Holds(i)
Noted(v, i) == [v EXCEPT !.g.stale = @ \/ w.x.ep # w.p[i].ep]
Succeed(i) == /\ Reports(i)
  /\ w' = Noted(Go([w EXCEPT !.x = Ended(w.x, "SUCCEEDED"), !.g.results = @ + 1], i, "del"), i)
Fail(i) == Reports(i) /\ \E long \in Longs : w' = Noted(Follow([w EXCEPT !.x = Failed(w.x, w.late, long)], i), i)
PutOff(i) == /\ Reports(i)
  /\ \E long \in Longs :
     LET off == [Retry(w.x, long) EXCEPT !.att = IF CountsAtClaim THEN @ - 1 ELSE @] IN
     \/ w.backs < GiveBacks /\ w' = Noted(Follow([w EXCEPT !.x = off, !.backs = @ + 1], i), i)
     \/ Asks > 0 /\ w' = Noted(Follow(IF w.x.asked >= Asks /\ AsksSeldom
                                      THEN [w EXCEPT !.x = Failed(w.x, w.late, long)]
                                      ELSE [w EXCEPT !.x = [off EXCEPT !.asked = IF @ <= Asks THEN @ + 1 ELSE @]], i), i)
Heartbeat(i) == /\ w.p[i].pc = "run" /\ w.x.st = "RUNNING" /\ w.x.ep = w.p[i].ep /\ w.beats < Heartbeats
  /\ w' = [w EXCEPT !.x.over = FALSE, !.x.lease = @ + 1, !.beats = @ + 1]
Hang(i) == w.p[i].pc = "run" /\ ~w.p[i].hung /\ w.hangs < Hangs /\ w' = [w EXCEPT !.p[i].hung = TRUE, !.hangs = @ + 1]
After(i) ==
  \/ w.p[i].pc = "tell" /\ w' = Go(Tell(w), i, "del")
  \/ w.p[i].pc = "del" /\ w' = Leave(Forget(w), i)
Struck(v, ep) == IF (v.x.st \in Terminal /\ v.x.ep = ep) \/ ~StrikesEpoch THEN [v EXCEPT !.x.owed = FALSE] ELSE v
Letter(v, gen) == [v EXCEPT !.g.letters = @ \cup {gen}]
Settle(i) ==
  \/ w.p[i].pc = "letter" /\ w' = Go(IF LettersFirst THEN Letter(w, w.p[i].gen) ELSE Struck(w, w.p[i].ep), i, "strike")
  \/ w.p[i].pc = "strike" /\ w' = Go(IF LettersFirst THEN Struck(w, w.p[i].ep) ELSE Letter(w, w.p[i].gen), i, "del")
Dies == w.deaths < Deaths \/ Deaths = Unlimited
Died(v) == [v EXCEPT !.deaths = IF Deaths = Unlimited THEN @ ELSE @ + 1]
Die(i) == w.p[i].pc # "idle" /\ Dies /\ w' = Died(Leave(w, i))
Work(i) == Receive(i) \/ Claim(i) \/ Again(i) \/ Refused(i) \/ Stopped(i) \/ Succeed(i) \/ Fail(i) \/ PutOff(i) \/ After(i) \/ Settle(i)

\* ------------------------------------------------------------------ time
Holder == \E i \in P : w.p[i].pc = "run" /\ w.p[i].ep = w.x.ep /\ ~(w.p[i].hung /\ HeartbeatsEnd)
LeaseOver == /\ w.x.st \in {"RUNNING", "CANCELLING"} /\ ~w.x.over /\ (SlowHolders \/ ~Holder) /\ w' = [w EXCEPT !.x.over = TRUE]
RetryDue == w.x.st = "RETRY" /\ ~w.x.due /\ w' = [w EXCEPT !.x.due = TRUE]
RunLate == Deadline /\ ~w.late /\ w.x.st \notin Terminal /\ w' = [w EXCEPT !.late = TRUE]

\* ------------------------------------------------------------------ the watch: domain/repairs.py on what it has read
Dropped(v, k) == [v EXCEPT !.pages = @ \ {k}]
Looked(v, s, k) ==
  IF s.st \in Terminal THEN (IF s.owed THEN Struck(Letter(v, s.gen), s.ep) ELSE Dropped(v, k))
  ELSE IF s.wk THEN (IF KeepsDueWaiting /\ s.due THEN v ELSE Dropped(v, k))
  ELSE IF s.st = "RETRY" /\ ~KeepsRetry THEN Dropped(v, k)
  ELSE IF s.st \in {"QUEUED", "RETRY"}
  THEN IF v.late THEN (IF v.x.st = s.st /\ v.x.ep = s.ep THEN [v EXCEPT !.x = Dead(@)] ELSE v)
       ELSE IF s.st = "RETRY" /\ ~s.due THEN v ELSE IF v.hints = 0 THEN Tell(v) ELSE v
  ELSE IF ~Reapable(s) THEN v
  ELSE IF v.x.st = s.st /\ v.x.ep = s.ep /\ (ReapsSeenLease => v.x.lease = s.lease /\ v.x.over)
       THEN [v EXCEPT !.x = Reaped(@, v.late, Long), !.g.live = @ \/ ~v.x.over] ELSE v
WatchAtOnce(k) == ~SlowWatch /\ Looked(w, w.x, k) # w /\ w' = Looked(w, w.x, k)
WatchRead(k) == SlowWatch /\ w.watch.pc = "idle" /\ w' = [w EXCEPT !.watch = [pc |-> "act", k |-> k, x |-> w.x]]
WatchAct == w.watch.pc = "act" /\ w' = [Looked(w, w.watch.x, w.watch.k) EXCEPT !.watch.pc = "idle"]

\* ------------------------------------------------------------------ the releaser: services/release.py
Release ==
  \/ /\ w.rel.pc = "idle" /\ w.x.st = "RETRY" /\ w.x.wk /\ w.x.due
     /\ w' = [w EXCEPT !.rel = [pc |-> IF ReleasePagesFirst THEN "page" ELSE "write", ep |-> w.x.ep]]
  \/ w.rel.pc = "page" /\ w' = [w EXCEPT !.pages = @ \cup {ReleaseOf(w.rel.ep)}, !.rel.pc = IF ReleasePagesFirst THEN "write" ELSE "tell"]
  \/ /\ w.rel.pc = "write"
     /\ LET may == w.x.st = "RETRY" /\ w.x.wk /\ w.x.ep = w.rel.ep IN
        w' = [w EXCEPT !.x.wk = IF may THEN FALSE ELSE @,
                       !.rel.pc = IF ~may THEN "idle" ELSE IF ReleasePagesFirst THEN "tell" ELSE "page"]
  \/ w.rel.pc = "tell" /\ w' = [Tell(w) EXCEPT !.rel.pc = "idle"]
ReleaserDies == w.rel.pc # "idle" /\ Dies /\ w' = [Died(w) EXCEPT !.rel.pc = "idle"]

\* ------------------------------------------------------------------ the API: cancel (retract.py: cancel_surely), redrive
Cancel ==
  \/ w.api.pc = "idle" /\ w.cancels < Cancels /\ w' = [w EXCEPT !.api = [pc |-> "write", st |-> w.x.st, ep |-> w.x.ep], !.cancels = @ + 1]
  \/ /\ w.api.pc = "write"
     /\ LET s == w.api.st
            as_seen == w.x.st = s /\ w.x.ep = w.api.ep
            done == s \in Terminal \cup {"CANCELLING"}
        IN w' = IF done THEN [w EXCEPT !.api.pc = "done", !.g.acked = @ \/ s \in {"CANCELLED", "CANCELLING"}]
                ELSE IF as_seen \/ ~CancelSeesState
                THEN [w EXCEPT !.x = IF s = "RUNNING" THEN [@ EXCEPT !.st = "CANCELLING"] ELSE Ended(@, "CANCELLED"),
                               !.api.pc = "done", !.g.acked = TRUE, !.g.cut = @ \/ (w.x.st = "RUNNING" /\ s # "RUNNING")]
                ELSE [w EXCEPT !.api = [pc |-> "write", st |-> w.x.st, ep |-> w.x.ep]]
MayRedrive == w.x.st = "DEAD" /\ (~w.x.owed \/ ~RedriveWaits) /\ ~w.g.acked
Reopened(v) == [v EXCEPT !.x = [@ EXCEPT !.st = "QUEUED", !.gen = @ + 1, !.ep = IF RedriveRaises THEN @ + 1 ELSE @, !.max = v.x.att + Attempts,
                                         !.owed = FALSE],
                         !.late = FALSE, !.rd = "tell"]
Redrive ==
  \/ /\ w.rd = "idle" /\ w.redrives < Redrives /\ MayRedrive
     /\ w' = IF RedrivePage = "inside" THEN [Reopened(w) EXCEPT !.pages = @ \cup {RedriveTo(w.x.gen + 1)}, !.redrives = @ + 1]
             ELSE [w EXCEPT !.pages = @ \cup {RedriveTo(w.x.gen + 1)}, !.rd = "write", !.redrives = @ + 1]
  \/ w.rd = "write" /\ w' = IF MayRedrive THEN Reopened(w) ELSE [w EXCEPT !.rd = "idle"]
  \/ w.rd = "tell" /\ w' = [Tell(w) EXCEPT !.rd = "idle"]
RedriverDies == w.rd # "idle" /\ Dies /\ w' = [Died(w) EXCEPT !.rd = "idle"]
Lose == w.hints > 0 /\ w.losses < Losses /\ w' = [w EXCEPT !.hints = @ - 1, !.losses = @ + 1]

Next ==
  \/ LeaseOver \/ RetryDue \/ RunLate \/ WatchAct \/ Release \/ ReleaserDies \/ Cancel \/ Redrive \/ RedriverDies \/ Lose
  \/ \E i \in P : Work(i) \/ Heartbeat(i) \/ Hang(i) \/ Die(i)
  \/ \E k \in w.pages : WatchAtOnce(k) \/ WatchRead(k)
Fair ==
  /\ WF_w(~Holder /\ LeaseOver) /\ WF_w(RetryDue) /\ WF_w(Release) /\ WF_w(w.api.pc = "write" /\ Cancel) /\ WF_w(w.rd # "idle" /\ Redrive)
  /\ WF_w(\E k \in w.pages : WatchAtOnce(k))
  /\ \A i \in P : WF_w(Work(i))
Spec == Init /\ [][Next]_w
FairSpec == Spec /\ Fair

\* ------------------------------------------------------------------ promises
OneResultPerExecution == w.g.results <= 1
NoStaleResult == ~w.g.stale
AttemptsBounded == w.g.starts <= w.x.max + w.backs + w.x.asked
PutOffsBounded == w.x.asked <= Asks
NoAttemptBurnt == ~w.g.burnt
NoEarlyRetry == ~w.g.early
NoStartAfterCancelAck == ~w.g.after
NoRunCutShort == ~w.g.cut               \* what runs is asked to stop, and is not ended over its head
NoLiveLeaseReaped == ~w.g.live
DeadIsLettered == w.x.st = "DEAD" /\ ~w.x.owed => w.x.gen \in w.g.letters
EachGenerationIsLettered == \A gen \in 1..w.x.gen - 1 : gen \in w.g.letters
OwedIsListed == (w.x.st \notin Terminal \/ w.x.owed) => (w.pages # {} \/ w.x.wk)
TerminalIsFinal == [][w.x.st \in Terminal => (w'.x.st = w.x.st \/ w'.x.gen > w.x.gen)]_w
EpochMonotone == [][w'.x.ep >= w.x.ep]_w
Rests == w.x.st \in Terminal /\ ~w.x.owed /\ w.pages = {}
ComesToRest == <>[]Rests
=============================================================================
