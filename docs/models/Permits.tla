------------------------------- MODULE Permits -------------------------------
(* A tenant's quota of executions that run at once, as designed: a set of holders, each an execution and its generation. An *)
(* execution that finds no room stands in the backlog (WAITING); settle gives its permit back and admits the next. Nobody's *)
(* steps are atomic together, the index of the backlog lags, every process may die between two of them.                    *)
EXTENDS Naturals, FiniteSets
CONSTANTS
  Runs, Limit, Lowers, Starters, Settlers, StaleIndex, Cancels, Redrives, Duplicates, Crashes, Losses,
  AsSet,                         \* holders are a set, not a counter
  Generations,                   \* a holder is an execution and its generation
  AddsOnceMore,                  \* who has become WAITING asks for a permit once more
  KeepsWaiting,                  \* the watch keeps who waits, and tries for it again
  AdmitsMany,                    \* settle admits until there is no room or nobody
  NamesGeneration,               \* WAITING -> QUEUED names the generation that the permit was taken for
  EndsOwe,                       \* every end owes its permit, a cancel's too
  Heals,                         \* where it is full and somebody waits, holders that have ended are taken out
  RedriveWaits                   \* a redrive goes to the backlog, not to the queue
VARIABLE w
E == 1..Runs
P == 1..Starters
F == 1..Settlers
Unlimited == 99
Ends == {"DONE", "CANCELLED"}
Idle == [pc |-> "idle", x |-> 0, gen |-> 0, next |-> 0, ngen |-> 0]
Init == w = [
  st |-> [x \in E |-> "QUEUED"], gen |-> [x \in E |-> 1], owed |-> {}, hints |-> {}, pages |-> E, holders |-> {}, count |-> 0, limit |-> Limit,
  p |-> [i \in P |-> Idle], f |-> [i \in F |-> Idle], cancels |-> 0, redrives |-> 0, duplicates |-> 0, crashes |-> 0, losses |-> 0]
Key(x, gen) == [x |-> x, gen |-> IF Generations THEN gen ELSE 1]
Room(k) == IF AsSet THEN Cardinality(w.holders) < w.limit \/ k \in w.holders ELSE w.count < w.limit
Taken(v, k) == [v EXCEPT !.holders = @ \cup {k}, !.count = @ + 1]
Given(v, k) == [v EXCEPT !.holders = @ \ {k}, !.count = IF @ > 0 THEN @ - 1 ELSE @]
Dies == w.crashes < Crashes \/ Crashes = Unlimited
Died(v) == [v EXCEPT !.crashes = IF Crashes = Unlimited THEN @ ELSE @ + 1]
End(v, x, st, owes) == [v EXCEPT !.st[x] = st, !.owed = IF owes THEN @ \cup {x} ELSE @]

\* ------------------------------------------------------------------ before a hint is sent, by whomever
Pick(i, y) == /\ w.p[i].pc = "idle" /\ y \in w.pages /\ y \notin w.hints /\ (w.st[y] = "QUEUED" \/ (w.st[y] = "WAITING" /\ KeepsWaiting))
  /\ w' = [w EXCEPT !.p[i] = [Idle EXCEPT !.pc = IF w.st[y] = "QUEUED" THEN "add" ELSE "again", !.x = y, !.gen = w.gen[y]]]
Start(i) == LET x == w.p[i].x k == Key(x, w.p[i].gen) IN
  \/ w.p[i].pc = "add" /\ w' = IF Room(k) THEN [Taken(w, k) EXCEPT !.p[i].pc = "send"] ELSE [w EXCEPT !.p[i].pc = "wait"]
  \/ /\ w.p[i].pc = "wait"
     /\ w' = IF w.st[x] = "QUEUED" /\ w.gen[x] = w.p[i].gen THEN [w EXCEPT !.st[x] = "WAITING", !.p[i].pc = IF AddsOnceMore THEN "again" ELSE "idle"]
             ELSE [w EXCEPT !.p[i] = Idle]
  \/ w.p[i].pc = "again" /\ w' = IF Room(k) THEN [Taken(w, k) EXCEPT !.p[i].pc = "up"] ELSE [w EXCEPT !.p[i] = Idle]
  \/ /\ w.p[i].pc = "up"
     /\ w' = IF w.st[x] = "WAITING" /\ (NamesGeneration => w.gen[x] = w.p[i].gen)
             THEN [w EXCEPT !.st[x] = "QUEUED", !.p[i].pc = "send"] ELSE [w EXCEPT !.p[i] = Idle]
  \/ w.p[i].pc = "send" /\ w' = [w EXCEPT !.hints = @ \cup {x}, !.p[i] = Idle]
StarterDies(i) == w.p[i].pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.p[i] = Idle])

\* ------------------------------------------------------------------ workers and the API; a claim does not look at permits
Claim(x) == x \in w.hints /\ w.st[x] = "QUEUED" /\ w' = [w EXCEPT !.st[x] = "RUNNING"]
Finish(x) == w.st[x] = "RUNNING" /\ w' = End(w, x, "DONE", TRUE)
Delete(x) == x \in w.hints /\ (w.st[x] = "WAITING" \/ (w.st[x] \in Ends /\ x \notin w.owed)) /\ w' = [w EXCEPT !.hints = @ \ {x}]
Lose(x) == x \in w.hints /\ w.losses < Losses /\ w' = [w EXCEPT !.hints = @ \ {x}, !.losses = @ + 1]
OldHint(x) == w.gen[x] > 1 /\ x \notin w.hints /\ w.duplicates < Duplicates /\ w' = [w EXCEPT !.hints = @ \cup {x}, !.duplicates = @ + 1]
Cancel(x) == w.st[x] \in {"QUEUED", "WAITING"} /\ w.cancels < Cancels /\ w' = [End(w, x, "CANCELLED", EndsOwe) EXCEPT !.cancels = @ + 1]
Redrive(x) == /\ w.st[x] = "DONE" /\ x \notin w.owed /\ w.redrives < Redrives
  /\ w' = [w EXCEPT !.st[x] = IF RedriveWaits THEN "WAITING" ELSE "QUEUED", !.gen[x] = @ + 1, !.pages = @ \cup {x}, !.redrives = @ + 1]
Lower == Lowers /\ w.limit > 1 /\ w' = [w EXCEPT !.limit = 1]

\* ------------------------------------------------------------------ settle: the permit goes back, the next is admitted
Settle(i) == LET x == w.f[i].x y == w.f[i].next k == Key(y, w.f[i].ngen) IN
  \/ /\ w.f[i].pc = "idle"
     /\ \E z \in w.owed : (z \in w.hints \/ z \in w.pages) /\ w' = [w EXCEPT !.f[i] = [Idle EXCEPT !.pc = "give", !.x = z, !.gen = w.gen[z]]]
  \/ w.f[i].pc = "give" /\ w' = [Given(w, Key(x, w.f[i].gen)) EXCEPT !.f[i].pc = "ask"]
  \/ /\ w.f[i].pc = "ask"
     /\ LET waits == {z \in E : w.st[z] = "WAITING"} IN
        \/ \E z \in waits : w' = [w EXCEPT !.f[i].pc = "admit", !.f[i].next = z, !.f[i].ngen = w.gen[z]]
        \/ (waits = {} \/ StaleIndex) /\ w' = [w EXCEPT !.f[i].pc = "strike"]
  \/ w.f[i].pc = "admit" /\ w' = IF Room(k) THEN [Taken(w, k) EXCEPT !.f[i].pc = "up"] ELSE [w EXCEPT !.f[i].pc = "strike"]
  \/ /\ w.f[i].pc = "up"
     /\ w' = IF w.st[y] = "WAITING" /\ (NamesGeneration => w.gen[y] = w.f[i].ngen)
             THEN [w EXCEPT !.st[y] = "QUEUED", !.f[i].pc = "tell"] ELSE [w EXCEPT !.f[i].pc = IF AdmitsMany THEN "ask" ELSE "strike"]
  \/ w.f[i].pc = "tell" /\ w' = [w EXCEPT !.hints = @ \cup {y}, !.f[i].pc = IF AdmitsMany THEN "ask" ELSE "strike"]
  \/ w.f[i].pc = "strike" /\ w' = [w EXCEPT !.owed = IF w.gen[x] = w.f[i].gen /\ w.st[x] \in Ends THEN @ \ {x} ELSE @, !.f[i] = Idle]
SettlerDies(i) == w.f[i].pc # "idle" /\ Dies /\ w' = Died([w EXCEPT !.f[i] = Idle])

\* ------------------------------------------------------------------ the watch
Drop(x) == /\ x \in w.pages /\ ((w.st[x] \in Ends /\ x \notin w.owed) \/ (w.st[x] = "WAITING" /\ ~KeepsWaiting))
  /\ w' = [w EXCEPT !.pages = @ \ {x}]
Left(k) == w.gen[k.x] > k.gen \/ (w.gen[k.x] = k.gen /\ w.st[k.x] \in Ends /\ k.x \notin w.owed)
Heal == /\ Heals /\ Cardinality(w.holders) >= w.limit /\ (\E x \in E : w.st[x] = "WAITING")
  /\ \E k \in w.holders : Left(k) /\ w' = Given(w, k)

Next ==
  \/ Lower \/ Heal
  \/ \E i \in P : (\E y \in E : Pick(i, y)) \/ Start(i) \/ StarterDies(i)
  \/ \E i \in F : Settle(i) \/ SettlerDies(i)
  \/ \E x \in E : Claim(x) \/ Finish(x) \/ Delete(x) \/ Lose(x) \/ OldHint(x) \/ Cancel(x) \/ Redrive(x) \/ Drop(x)
Fair ==
  /\ WF_w(Heal) /\ (\A i \in P : WF_w(Start(i)) /\ \A y \in E : SF_w(Pick(i, y))) /\ (\A i \in F : WF_w(Settle(i)))
  /\ \A x \in E : WF_w(Claim(x)) /\ WF_w(Finish(x)) /\ WF_w(Delete(x)) /\ WF_w(Drop(x))
Spec == Init /\ [][Next]_w
FairSpec == Spec /\ Fair

\* ------------------------------------------------------------------ promises
QuotaBound == Cardinality({x \in E : w.st[x] = "RUNNING"}) <= Limit
HoldersBound == AsSet => Cardinality(w.holders) <= Limit
RunningHoldsPermit == \A x \in E : w.st[x] = "RUNNING" => Key(x, w.gen[x]) \in w.holders
OwedIsListed == \A x \in E : (w.st[x] \notin Ends \/ x \in w.owed) => x \in w.pages
NobodyAddsOverTheLimit == [][Cardinality(w'.holders) > Cardinality(w.holders) => Cardinality(w'.holders) <= w.limit]_w
ComesToRest == <>[](\A x \in E : w.st[x] \in Ends /\ x \notin w.owed /\ x \notin w.pages)
=============================================================================
