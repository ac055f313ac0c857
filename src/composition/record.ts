// A composition's fields.
import { z } from 'zod';
import { documentKinds, type JsonObject, type Mode, modes } from '../contract/record.ts';
import { field, instant, json, type RecordOf, record } from '../shared/record.ts';
import { anyObject } from '../shared/schemas.ts';

export const updateStrategies = ['manual', 'auto_deploy', 'observe_first'] as const;
export type UpdateStrategy = (typeof updateStrategies)[number];

/** A contract's place in a composition, pinned to the version that was latest when the composition was saved. */
export interface CompositionItem {
  readonly contractId: string;
  readonly version: number;
  readonly position: number;
  readonly modeOverride: Mode | null;
  readonly enabled: boolean;
}

const options = json<JsonObject, typeof anyObject>(anyObject).nullable();

const compositionFields = {
  id: field(z.string()),
  tenantId: field(z.string(), { wire: false }),
  name: field(z.string()),
  description: field(z.string().nullable()),
  defaultsMode: field(z.enum(modes)),
  updateStrategy: field(z.enum(updateStrategies)),
  /** Of the documents that it becomes; null: the hub's default. */
  documentKind: field(z.enum(documentKinds).nullable()),
  items: field(json<readonly CompositionItem[], z.ZodUnknown>(z.unknown())),
  toolsConfig: field(options),
  observability: field(options),
  createdBy: field(z.string()),
  createdAt: field(instant),
  updatedAt: field(instant),
};

export type Composition = RecordOf<typeof compositionFields>;

export const compositionRecord = record('compositions', compositionFields);

/** A composition in a list. */
export type CompositionSummary = Omit<
  Composition,
  'tenantId' | 'items' | 'documentKind' | 'toolsConfig' | 'observability' | 'createdAt'
> & { readonly contractCount: number };
