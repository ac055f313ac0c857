// The level of this node's log: that of its settings, or for a while another one.
import type { Clock, Timer } from '../shared/ports/clock.ts';
import type { LogThreshold } from './config.ts';

export interface LogLevelSwitch {
  current(): LogThreshold;
  /** @param until epoch milliseconds; the level of the settings is back then */
  set(level: LogThreshold, until: number): void;
}

export function createLogLevel(
  logger: { level: string },
  normal: LogThreshold,
  clock: Pick<Clock, 'now' | 'after'>,
): LogLevelSwitch {
  let timer: Timer | null = null;
  let current = normal;
  const change = (level: LogThreshold): void => {
    current = level;
    logger.level = level;
  };
  return {
    current: () => current,
    set(level, until) {
      timer?.cancel();
      change(level);
      timer = clock.after(Math.max(0, until - clock.now()), () => change(normal));
    },
  };
}
