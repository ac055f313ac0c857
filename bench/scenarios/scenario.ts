// The form of a scenario of the suite.
import type { Rival } from '../rivals/rival.ts';
import type { RunSettings } from '../suite/arguments.ts';
import type { Scenario } from '../suite/results.ts';

export interface RunOptions extends RunSettings {
  /** A built checkout. */
  readonly hub: string;
  /** Prints a line of progress. @param share of the run that is done, 0 to 1 */
  readonly report: (text: string, share: number) => void;
}

export interface ScenarioProgram {
  readonly about: string;
  /** Reason that excludes the hub of `--url` from this scenario; absent: that hub can be measured. */
  readonly ownHub?: string;
  /** It starts no hub that `--slow` and `--profile` could act on. Default: false */
  readonly hasNoHub?: boolean;
  /** Rivals that `--rivals` measures beside it; absent: none has a part in it. */
  readonly rivals?: Rival['kind'];
  /** It takes `--ids`. Default: false */
  readonly ids?: boolean;
  /** It takes `--loaders`. Default: false */
  readonly loaders?: boolean;
  /** @throws CannotRun if hub or load fail */
  readonly run: (options: RunOptions) => Promise<Scenario>;
}

/** The parameter that a slow-down adds to a scenario. */
export const slowParameter = ({ slow }: Pick<RunOptions, 'slow'>): { readonly slow?: string } =>
  slow.length === 0 ? {} : { slow: slow.join(',') };

/** A scenario that did not run. */
export const skippedScenario = (name: string, reason: string): Scenario => ({
  name,
  parameters: {},
  skipped: reason,
  limited_by: 'none',
  load: { hub_cores: null, client_cores: null, other_cores: null, hub_rss_bytes: null },
  figures: [],
  rivals: [],
});
