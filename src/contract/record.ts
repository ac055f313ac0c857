// The contract library: records as the store keeps them.

export const contractTypes = ['pre', 'post', 'session', 'sandbox'] as const;
export type ContractType = (typeof contractTypes)[number];

export const modes = ['enforce', 'observe'] as const;
export type Mode = (typeof modes)[number];

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

/** In which words of the rule language a document is written. */
export const documentKinds = ['bundle', 'ruleset'] as const;
export type DocumentKind = (typeof documentKinds)[number];
