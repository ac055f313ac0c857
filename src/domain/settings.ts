// A tenant's settings: small records, each under a name of its own, that the last write replaces.
import type { ToolArguments } from 'reeve-agent/rules';

/** Every setting and its value. */
export interface SettingValues {
  /** What tools and their arguments are, for the playground: the documents themselves cannot say it. */
  readonly tools: { readonly toolArguments: ToolArguments };
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
