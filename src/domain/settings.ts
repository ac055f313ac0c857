// A tenant's settings: small records, each under a name of its own, that the last write replaces.
import type { CommandProfiles, ToolArguments } from 'reeve-agent/rules';
import type { AiConfig } from './ai.ts';

export interface ToolWords {
  /** What tools and their arguments are, for sandboxes. */
  readonly toolArguments: ToolArguments;
  /** Prefixes of selectors that agents register. Absent in what an older version of the hub wrote. */
  readonly customSelectors?: readonly string[];
  /** Operators that agents register. Absent in what an older version of the hub wrote. */
  readonly customOperators?: readonly string[];
  /** Profiles of programs for commands in sandboxes. Absent: none. */
  readonly commandProfiles?: CommandProfiles;
}

/** Every setting and its value. */
export interface SettingValues {
  /**
   * What the documents themselves cannot say of the agents that load them: for the linter, deploys and the playground.
   */
  readonly tools: ToolWords;
  /** Who assists people, and with which model. */
  readonly ai: AiConfig;
}

export type SettingName = keyof SettingValues;

export interface Setting<N extends SettingName = SettingName> {
  readonly tenantId: string;
  readonly name: N;
  readonly value: SettingValues[N];
  readonly updatedAt: number;
  /** The e-mail of who wrote it. */
  readonly updatedBy: string;
}
