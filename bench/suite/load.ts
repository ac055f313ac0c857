// Processor time, disk waits and memory of hub, clients and other work during the rounds of a scenario.
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

/** Text about the usage of a round, for its progress line. */
export function describeUsage(usage: Usage): string {
  const { hubMs, clientMs, otherMs, diskWaitMs, hubRssBytes } = usage;
  const cores = (
    [
      ['hub', hubMs],
      ['clients', clientMs],
      ['others', otherMs],
      ['disk wait', diskWaitMs],
    ] as const
  ).flatMap(([name, milliseconds]) => {
    const value = coresOf(milliseconds, usage);
    return value === null ? [] : [`${name} ${value.toFixed(2)}`];
  });
  const memory = hubRssBytes === null ? [] : [`hub ${Math.round(hubRssBytes / 2 ** 20)} MiB`];
  return [...(cores.length === 0 ? [] : [`cores: ${cores.join(', ')}`]), ...memory].join('; ');
}

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
