// What hub, clients and other work used during the rounds of a scenario.
import type { Usage } from './machine.ts';
import type { Load } from './results.ts';
import { medianOf } from './statistics.ts';

/** Null where a value is absent. */
export function medianOrNull(values: readonly (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === values.length && numbers.length > 0 ? medianOf(numbers) : null;
}

export const coresOf = (milliseconds: number | null, { elapsedMs }: Usage): number | null =>
  milliseconds === null ? null : milliseconds / elapsedMs;

/** Medians of the rounds. */
export function loadOf(usages: readonly Usage[]): Load {
  const median = (value: (usage: Usage) => number | null): number | null => medianOrNull(usages.map(value));
  return {
    hub_cores: median((usage) => coresOf(usage.hubMs, usage)),
    client_cores: median((usage) => coresOf(usage.clientMs, usage)),
    other_cores: median((usage) => coresOf(usage.otherMs, usage)),
    hub_rss_bytes: median(({ hubRssBytes }) => hubRssBytes),
  };
}
