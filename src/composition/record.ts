// A composition's fields.
import { z } from 'zod';
import { contractType, documentKind, type JsonObject, mode } from '../contract/record.ts';
import { field, instant, json, type RecordOf, record, type StoredOf } from '../shared/record.ts';
import { anyObject, uuid } from '../shared/schemas.ts';

export const updateStrategies = ['manual', 'auto_deploy', 'observe_first'] as const;
export const updateStrategy = z.enum(updateStrategies);
export type UpdateStrategy = (typeof updateStrategies)[number];

const itemFields = {
  contractId: field(z.string()),
  name: field(z.string(), { name: 'contract_name' }),
  type: field(contractType, { name: 'contract_type' }),
  version: field(z.number().int(), { name: 'contract_version' }),
  position: field(z.number().int()),
  modeOverride: field(mode.nullable()),
  enabled: field(z.boolean()),
  hasNewerVersion: field(z.boolean()),
};
type CompositionContract = RecordOf<typeof itemFields>;
/** A contract's place in a composition, pinned to the version that was latest when the composition was saved. */
export type CompositionItem = Omit<CompositionContract, 'name' | 'type' | 'hasNewerVersion'>;
export const compositionItemRecord = record('contracts', itemFields);

const options = json<JsonObject, typeof anyObject>(anyObject).nullable();

const summaryFields = {
  name: field(z.string()),
  description: field(z.string().nullable(), { shorten: 'list' }),
  defaultsMode: field(mode),
  updateStrategy: field(updateStrategy),
  contractCount: field(z.number().int(), { stored: false }),
  updatedAt: field(instant),
  createdBy: field(z.string()),
};
/** A composition in a list. */
export type CompositionSummary = RecordOf<typeof summaryFields>;
export const compositionSummaryRecord = record('compositions', summaryFields);

const compositionFields = {
  ...summaryFields,
  id: field(uuid),
  /** Of the documents that it becomes; null: the hub's default. */
  documentKind: field(documentKind.nullable()),
  tenantId: field(uuid),
  /** The items with what the library knows of their contracts. */
  contracts: field(z.array(compositionItemRecord.reply('console', 'one')), { stored: false }),
  items: field(json<readonly CompositionItem[], z.ZodUnknown>(z.unknown()), { wire: false }),
  toolsConfig: field(options),
  observability: field(options),
  createdAt: field(instant, { wire: false }),
};

export type Composition = StoredOf<typeof compositionFields>;

export const compositionRecord = record('compositions', compositionFields);
