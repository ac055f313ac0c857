// The contract library and compositions: records as the store keeps them.

export const contractTypes = ['pre', 'post', 'session', 'sandbox'] as const;
export type ContractType = (typeof contractTypes)[number];

export const modes = ['enforce', 'observe'] as const;
export type Mode = (typeof modes)[number];

export const updateStrategies = ['manual', 'auto_deploy', 'observe_first'] as const;
export type UpdateStrategy = (typeof updateStrategies)[number];

export type JsonObject = { readonly [key: string]: unknown };

/** One version of a contract. Versions count from 1; all are kept. */
export interface ContractVersion {
  readonly id: string;
  readonly tenantId: string;
  readonly contractId: string;
  readonly version: number;
  readonly name: string;
  readonly description: string | null;
  readonly type: ContractType;
  readonly definition: JsonObject;
  readonly tags: readonly string[];
  readonly createdBy: string;
  readonly createdAt: number;
}

/** A contract's place in a composition, pinned to the version that was latest when the composition was saved. */
export interface CompositionItem {
  readonly contractId: string;
  readonly version: number;
  readonly position: number;
  readonly modeOverride: Mode | null;
  readonly enabled: boolean;
}

/** In which words of the rule language a document is written. */
export const documentKinds = ['bundle', 'ruleset'] as const;
export type DocumentKind = (typeof documentKinds)[number];

export interface Composition {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly description: string | null;
  readonly defaultsMode: Mode;
  readonly updateStrategy: UpdateStrategy;
  /** Of the documents that it becomes; null: what the hub writes by default. */
  readonly documentKind: DocumentKind | null;
  readonly items: readonly CompositionItem[];
  readonly toolsConfig: JsonObject | null;
  readonly observability: JsonObject | null;
  readonly createdBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A composition as lists show it. */
export type CompositionSummary = Omit<
  Composition,
  'tenantId' | 'items' | 'documentKind' | 'toolsConfig' | 'observability' | 'createdAt'
> & { readonly contractCount: number };
