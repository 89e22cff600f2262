------------------------------ MODULE Triggers ------------------------------
(* A workflow's step that waits for several others, as designed: each upstream that has succeeded owes the effect            *)
(* *dependents*. Settle puts the dependent where there is none, adds itself to the set of those that have come, starts the  *)
(* dependent when the set is complete, writes a page, sends a hint, and strikes what was owed. It may die anywhere.          *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Upstreams, Settlers, Failing, Cancels, Crashes, Losses,
  PutsIfAbsent,                  \* the dependent is put only where there is none, under a key derived from the workflow's
  JoinsAsSet,                    \* who has come is a set, not a counter
  StartsComplete,                \* it is started when all have come
  StartsWaiting,                 \* WAITING -> QUEUED names the state
  PagesFirst,                    \* a page names the dependent before `owed` goes
  StrikesLast,                   \* `owed` goes last
  SkipsWaiting                   \* a failed upstream skips the dependent only while it waits
VARIABLE w
U == 1..Upstreams
F == 1..Settlers
Unlimited == 99
Ends == {"SUCCEEDED", "DEAD"}
ChildEnds == {"DONE", "SKIPPED", "CANCELLED"}
Idle == [pc |-> "idle", u |-> 0]
Init == w = [
  st |-> [u \in U |-> "RUNNING"], owed |-> {}, listed |-> U, child |-> "-", come |-> {}, count |-> 0, hint |-> FALSE, page |-> FALSE,
  f |-> [i \in F |-> Idle], cancels |-> 0, crashes |-> 0, losses |-> 0,
  g |-> [runs |-> 0, early |-> FALSE, acked |-> FALSE, after |-> FALSE]]
Dies == w.crashes < Crashes \/ Crashes = Unlimited
Died(v) == [v EXCEPT !.crashes = IF Crashes = Unlimited THEN @ ELSE @ + 1]
Finish(u) == /\ w.st[u] = "RUNNING"
  /\ \E st \in (IF Failing THEN Ends ELSE {"SUCCEEDED"}) : w' = [w EXCEPT !.st[u] = st, !.owed = @ \cup {u}]
Complete == IF ~StartsComplete THEN TRUE ELSE IF JoinsAsSet THEN w.come = U ELSE w.count >= Upstreams

Settle(i) == LET u == w.f[i].u IN
  \/ w.f[i].pc = "idle" /\ \E x \in w.owed : w' = [w EXCEPT !.f[i] = [pc |-> IF StrikesLast THEN "put" ELSE "strike", u |-> x]]
  \/ /\ w.f[i].pc = "put"
     /\ w' = [w EXCEPT !.child = IF @ = "-" \/ ~PutsIfAbsent THEN "WAITING" ELSE @, !.f[i].pc = IF w.st[u] = "DEAD" THEN "skip" ELSE "join"]
  \/ w.f[i].pc = "skip" /\ w' = [w EXCEPT !.child = IF @ = "WAITING" \/ ~SkipsWaiting THEN "SKIPPED" ELSE @,
                                         !.f[i] = IF StrikesLast THEN [@ EXCEPT !.pc = "strike"] ELSE Idle]
  \/ w.f[i].pc = "join" /\ w' = [w EXCEPT !.come = @ \cup {u}, !.count = IF @ < Upstreams THEN @ + 1 ELSE @, !.f[i].pc = "start"]
  \/ /\ w.f[i].pc = "start"
     /\ LET may == Complete /\ (w.child = "WAITING" \/ (~StartsWaiting /\ w.child # "DONE")) IN
        w' = [w EXCEPT !.child = IF may THEN "QUEUED" ELSE @, !.g.early = @ \/ (may /\ \E x \in U : w.st[x] # "SUCCEEDED"),
                       !.f[i].pc = "page"]
  \/ w.f[i].pc = "page" /\ w' = [w EXCEPT !.page = (PagesFirst /\ w.child = "QUEUED") \/ @, !.f[i].pc = "tell"]
  \/ /\ w.f[i].pc = "tell"
     /\ w' = [w EXCEPT !.hint = @ \/ w.child = "QUEUED", !.f[i] = IF StrikesLast THEN [@ EXCEPT !.pc = "strike"] ELSE Idle]
  \/ w.f[i].pc = "strike" /\ w' = [w EXCEPT !.owed = @ \ {u}, !.f[i] = IF StrikesLast THEN Idle ELSE [@ EXCEPT !.pc = "put"]]
SettlerDies(i) == w.f[i].pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.f[i] = Idle])

Run == w.hint /\ w.child = "QUEUED" /\ w' = [w EXCEPT !.child = "DONE", !.hint = FALSE, !.g.runs = @ + 1, !.g.after = @ \/ w.g.acked]
Delete == w.hint /\ w.child # "QUEUED" /\ w' = [w EXCEPT !.hint = FALSE]
Lose == w.hint /\ w.losses < Losses /\ w' = [w EXCEPT !.hint = FALSE, !.losses = @ + 1]
Cancel == w.cancels < Cancels /\ w.child \in {"WAITING", "QUEUED"} /\ w' = [w EXCEPT !.child = "CANCELLED", !.g.acked = TRUE, !.cancels = @ + 1]
Watch ==
  \/ w.page /\ w.child = "QUEUED" /\ ~w.hint /\ w' = [w EXCEPT !.hint = TRUE]
  \/ w.page /\ w.child \in ChildEnds /\ w' = [w EXCEPT !.page = FALSE]
  \/ \E u \in w.listed : w.st[u] \in Ends /\ u \notin w.owed /\ w' = [w EXCEPT !.listed = @ \ {u}]

Next ==
  \/ Run \/ Delete \/ Lose \/ Cancel \/ Watch
  \/ \E u \in U : Finish(u)
  \/ \E i \in F : Settle(i) \/ SettlerDies(i)
Fair == WF_w(Run) /\ WF_w(Delete) /\ WF_w(Watch) /\ (\A u \in U : WF_w(Finish(u))) /\ (\A i \in F : WF_w(Settle(i)))
Spec == Init /\ [][Next]_w
FairSpec == Spec /\ Fair

\* ------------------------------------------------------------------ promises
DagTriggeredOnce == w.g.runs <= 1
DagNotPremature == ~w.g.early
NoStartAfterCancelAck == ~w.g.after
\* Who waits is held by an upstream that has not settled; who is queued, by a page or by an upstream that still owes.
OwedIsListed == /\ w.child = "WAITING" => \E u \in U : w.st[u] = "RUNNING" \/ u \in w.owed
                /\ w.child = "QUEUED" => w.page \/ w.owed # {}
                /\ w.owed \subseteq w.listed
TerminalIsFinal == [][w.child \in ChildEnds => w'.child = w.child]_w
ComesToRest == <>[](w.child \in ChildEnds /\ w.owed = {} /\ w.listed = {} /\ ~w.page)
=============================================================================
