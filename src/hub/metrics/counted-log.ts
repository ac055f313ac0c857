// Counts written log lines by level, for reeve_log_records_total.
import type { Log } from '../../shared/ports/log.ts';
import type { LogThreshold } from '../config.ts';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** @param levelOf the lowest level that `log` writes now */
export function countLog(
  log: Log,
  levelOf: () => LogThreshold,
): { readonly log: Log; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>(levels.map((name) => [name, 0]));
  const lowest = (): number => {
    const level = levelOf();
    return level === 'silent' ? levels.length : levels.indexOf(level);
  };
  const counted =
    (name: (typeof levels)[number], at: number) =>
    (fields: object, message: string): void => {
      if (at >= lowest()) counts.set(name, (counts.get(name) ?? 0) + 1);
      log[name](fields, message);
    };
  return {
    log: {
      debug: counted('debug', 0),
      info: counted('info', 1),
      warn: counted('warn', 2),
      error: counted('error', 3),
    },
    counts,
  };
}
