// The contract library: records as the store keeps them.

import { z } from 'zod';
import { field, instant, json, record, type StoredOf } from '../shared/record.ts';
import { anyObject, uuid } from '../shared/schemas.ts';

export const contractTypes = ['pre', 'post', 'session', 'sandbox'] as const;
export const contractType = z.enum(contractTypes);
export type ContractType = z.output<typeof contractType>;

export const modes = ['enforce', 'observe'] as const;
export const mode = z.enum(modes);
export type Mode = (typeof modes)[number];

export type JsonObject = { readonly [key: string]: unknown };

const summaryFields = {
  contractId: field(z.string()),
  name: field(z.string()),
  type: field(contractType),
  tags: field(z.array(z.string()), { shorten: 'list' }),
  /** From 1; all are kept. */
  version: field(z.number().int()),
  description: field(z.string().nullable(), { shorten: 'list' }),
  createdAt: field(instant),
  /** Compositions that contain the contract. */
  usageCount: field(z.number().int(), { stored: false }),
};
/** A contract in a list. */
export const contractSummaryRecord = record('contracts', summaryFields);

const contractFields = {
  ...summaryFields,
  id: field(uuid),
  tenantId: field(uuid),
  definition: field(json<JsonObject, typeof anyObject>(anyObject)),
  isLatest: field(z.boolean(), { stored: false }),
  createdBy: field(z.string()),
};
/** One version of a contract. */
export type ContractVersion = StoredOf<typeof contractFields>;
export const contractRecord = record('contracts', contractFields);

/** In which words of the rule language a document is written. */
export const documentKinds = ['bundle', 'ruleset'] as const;
export const documentKind = z.enum(documentKinds);
export type DocumentKind = (typeof documentKinds)[number];
