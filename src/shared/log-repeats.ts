// Warnings and errors that repeat, gathered: the first is logged at once, the others as one line with their count. An
// outage fails every call, and its first line names the cause.
import { minuteMs } from './duration.ts';
import { HubError } from './error.ts';
import type { Clock, Timer } from './ports/clock.ts';
import type { Log } from './ports/log.ts';

/** Time from the first line to the first count, in milliseconds. Each following one takes twice as long. */
const firstWindowMs = 10_000;
const longestWindowMs = 10 * minuteMs;
/** Facts that are counted at once. Beyond it every line is logged. */
const maxFacts = 1000;

/** Fields that make two lines of one message different facts. */
const distinguishing = ['route', 'queue', 'job', 'approval_id', 'shard', 'tenant_id', 'env', 'node'] as const;
const outageCodes: ReadonlySet<string> = new Set(['unavailable', 'shutting_down']);

type Level = 'warn' | 'error';

interface Repeats {
  readonly level: Level;
  readonly message: string;
  /** Of the last repeat. */
  fields: object;
  count: number;
  timer: Timer;
}

export interface GatheringLog extends Log {
  /** Logs the counts that wait, and clears. */
  flush(): void;
  /** Forgets all repeats: the next line is logged at once. */
  clear(): void;
}

type Fields = { readonly [name: string]: unknown };
/** The name of the fact that a line reports. Lines with one name are repeats. */
type FactName = (fields: Fields, message: string) => string;

function causeAndPlace(fields: Fields, message: string): string {
  const { err } = fields;
  // While a store is away, its calls fail for every tenant and route for the same reason.
  if (err instanceof HubError && outageCodes.has(err.code)) return message;
  const cause = err instanceof Error ? err.message : fields.error;
  return JSON.stringify([message, cause, ...distinguishing.map((name) => fields[name])]);
}

/**
 * Returns `log` with warnings and errors gathered. `repeats` is the count of lines that one line stands for. A line
 * with `repeats` is logged at once: another log gathered it.
 * @param factOf by default the message, its cause, and the place: route, job, tenant and so on
 */
export function gatherRepeats(
  log: Log,
  clock: Pick<Clock, 'after'>,
  factOf: FactName = causeAndPlace,
): GatheringLog {
  const facts = new Map<string, Repeats>();

  function logCount({ level, fields, message, count }: Repeats): void {
    if (count > 0) log[level]({ ...fields, repeats: count }, message);
  }

  function startWindow(fact: string, ms: number): Timer {
    return clock.after(ms, () => {
      const repeats = facts.get(fact);
      if (!repeats) return;
      if (repeats.count === 0) {
        facts.delete(fact);
        return;
      }
      logCount(repeats);
      repeats.count = 0;
      const nextMs = Math.min(2 * ms, longestWindowMs);
      repeats.timer = startWindow(fact, nextMs);
    });
  }

  const gather = (level: Level) => (fields: object, message: string) => {
    if ('repeats' in fields) return log[level](fields, message);
    const fact = `${level} ${factOf(fields as Fields, message)}`;
    const repeats = facts.get(fact);
    if (repeats) {
      repeats.count++;
      repeats.fields = fields;
      return;
    }
    log[level](fields, message);
    if (facts.size >= maxFacts) return;
    facts.set(fact, { level, message, fields, count: 0, timer: startWindow(fact, firstWindowMs) });
  };

  function clear(): void {
    for (const { timer } of facts.values()) timer.cancel();
    facts.clear();
  }

  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: gather('warn'),
    error: gather('error'),
    flush() {
      for (const repeats of facts.values()) logCount(repeats);
      clear();
    },
    clear,
  };
}
