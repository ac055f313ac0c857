// The long runs of `--nightly`: more events, more streams and more time than a run per commit can have.
import { type RunSettings, UsageFault, unknownName } from '../suite/arguments.ts';

interface NightlyRun {
  readonly scenario: string;
  readonly settings: Partial<RunSettings>;
}

/** In order. `--rivals` adds rivals; sizes on the command line come before these. */
export const nightlyRuns: readonly NightlyRun[] = [
  { scenario: 'ingest', settings: { rows: 1_000_000, rounds: 5, seconds: 10 } },
  // As many streams as a hub with 20,000 descriptors takes, for ten minutes: it keeps 512 for other uses.
  { scenario: 'idle', settings: { agents: 19_400, rounds: 3, seconds: 600 } },
  // Half an hour on one hub, whose memory, descriptors and log are measured for each third.
  { scenario: 'mixed', settings: { agents: 5000, rows: 100_000, rounds: 3, seconds: 600 } },
  { scenario: 'fanout', settings: { agents: 10_000, frame: 32_768, rounds: 5 } },
  { scenario: 'scrape', settings: { agents: 10_000, rounds: 5, seconds: 10 } },
  { scenario: 'traces', settings: { rounds: 9, seconds: 10 } },
  // From one address: a hub keeps the last tenth of its connections for other networks.
  { scenario: 'storm', settings: { agents: 17_000, rounds: 3, seconds: 60 } },
  { scenario: 'owner', settings: { agents: 1_000_000, rounds: 3 } },
  // As many streams as three processes hold, for ten minutes.
  { scenario: 'cluster', settings: { agents: 45_000, rounds: 5, seconds: 120 } },
  { scenario: 'evaluate', settings: { rounds: 5, seconds: 10 } },
  { scenario: 'query', settings: { rows: 1_000_000, rounds: 3, seconds: 10 } },
  { scenario: 'approval', settings: { rounds: 5, seconds: 10 } },
];

/**
 * The long runs of these scenarios. @param names default: all
 * @throws UsageFault for a scenario without a long run
 */
export function nightlyRunsOf(names: readonly string[]): readonly NightlyRun[] {
  const nightlyNames = nightlyRuns.map(({ scenario }) => scenario);
  const unknown = names.find((name) => !nightlyNames.includes(name));
  if (unknown !== undefined) throw new UsageFault(unknownName('long run', unknown, nightlyNames));
  return nightlyRuns.filter(({ scenario }) => names.length === 0 || names.includes(scenario));
}
