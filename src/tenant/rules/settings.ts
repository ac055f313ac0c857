// A tenant's settings: small records, each under a name of its own, that the last write replaces.
import type { CommandProfiles, IsolationMode, ToolArguments } from 'reeve-agent/rules';
import type { AiConfig } from '../../assistant/record.ts';
import type { AnnouncementOf } from '../../shared/announcement.ts';
import { type Env, environments } from '../../shared/ids.ts';
import type { SettingFields } from '../record.ts';
import type { RetentionPolicy } from './retention.ts';

export interface ToolWords {
  /** Kinds of tools' arguments, for sandboxes. */
  readonly toolArguments: ToolArguments;
  /** Prefixes of selectors that agents register. Absent: none. */
  readonly customSelectors?: readonly string[];
  /** Operators that agents register. Absent: none. */
  readonly customOperators?: readonly string[];
  /** Profiles of programs for commands in sandboxes. Absent: none. */
  readonly commandProfiles?: CommandProfiles;
  /** The least isolation of programs that agents' tools run. Absent: `none`. */
  readonly isolation?: IsolationMode;
}

export interface EnvironmentPolicy {
  /** Only admins, and operators by a role that names it, change what agents enforce there. */
  readonly isProtected: boolean;
}

export const policyName = <E extends Env>(env: E): `policy.${E}` => `policy.${env}`;

type Policies = { readonly [E in Env as `policy.${E}`]: EnvironmentPolicy };

/** Every setting and its value. */
export interface SettingValues extends Policies {
  /**
   * Facts about agents that documents cannot contain: for the linter, deployments and the playground.
   */
  readonly tools: ToolWords;
  /** Provider and model of the assistant. */
  readonly ai: AiConfig;
  /** Days for which records are kept. */
  readonly retention: RetentionPolicy;
}

export type SettingName = keyof SettingValues;

export interface Setting<N extends SettingName = SettingName> extends SettingFields {
  readonly name: N;
  readonly value: SettingValues[N];
}

export const isolationOf = (setting: Setting<'tools'> | null): IsolationMode =>
  setting?.value.isolation ?? 'none';

/** Announces a tenant's mode of isolation to the agents of each environment. */
export const isolationChanges = (
  tenantId: string,
  isolation: IsolationMode,
): readonly AnnouncementOf<'isolationChanged'>[] =>
  environments.map((env) => ({ kind: 'isolationChanged', tenantId, env, isolation }));
