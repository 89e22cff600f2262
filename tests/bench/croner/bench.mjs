// How long do croner's reading of an expression and its next ticks take? Prints one JSON list, a pair an expression.
//
// Standard input: {"start": ISO instant, "rounds": n, "steps": n, "expressions": [[text, zone], ...]}. Times are CPU
// microseconds, the best of several rounds, as those of the engines in Python are.

import { readFileSync } from "node:fs";
import { Cron } from "croner";

const { start, rounds, steps, expressions } = JSON.parse(readFileSync(0, "utf8"));
const from = new Date(start);

function bestUs(call) {
  let best = Infinity;
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage();
    call();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, user + system);
  }
  return best;
}

function measured([text, timezone]) {
  const read = () => new Cron(text, { timezone, paused: true });
  const step = () => {
    const found = read().nextRuns(steps, from);
    if (found.length !== steps) {
      throw new Error(`${text} in ${timezone} has ${found.length} ticks`);
    }
  };
  return [bestUs(read), bestUs(step) / steps];
}

// The first pass is for the compiler: a program that runs for long is what is compared.
expressions.forEach(measured);
process.stdout.write(JSON.stringify(expressions.map(measured)));
