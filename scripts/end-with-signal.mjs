// Ends what a script has started: when a signal ends the script, or when the script says so.
import { execFileSync } from 'node:child_process';
import { constants } from 'node:os';

/** The ids of the processes below one, at this moment. Workers of vitest do not end with vitest. */
function descendantsOf(root) {
  const rows = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const below = (parent) =>
    pairs.filter(([, ppid]) => ppid === parent).flatMap(([pid]) => [pid, ...below(pid)]);
  return below(root);
}

/**
 * Sends a signal to all processes below this one.
 * @param children the direct ones, for a machine without `ps`
 */
export function endAll(signal, children) {
  const processIds = () => {
    try {
      return descendantsOf(process.pid);
    } catch {
      return [...children].map(({ pid }) => pid);
    }
  };
  for (const pid of processIds()) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has just ended, such as `ps` itself.
    }
  }
}

/**
 * At each of the signals, sends it to all processes below this one and exits.
 * @param children the direct ones, for a machine without `ps`
 * @param beforeExit removes what belongs to the script
 */
export function endWithSignal(signals, children, beforeExit = () => {}) {
  for (const signal of signals) {
    process.once(signal, () => {
      endAll(signal, children);
      beforeExit();
      process.exit(128 + constants.signals[signal]);
    });
  }
}
