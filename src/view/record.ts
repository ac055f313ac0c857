// A saved query of a page of the console: a person's own, or shared with the tenant.

import { z } from 'zod';
import { field, instant, type RecordOf, record } from '../shared/record.ts';
import { line, text, uuid } from '../shared/schemas.ts';

const viewFields = {
  id: field(uuid),
  tenantId: field(z.string(), { wire: false }),
  /** The person who saved it. A shared view outlives the person. */
  ownerId: field(z.string(), { wire: false }),
  /** The page that it belongs to, such as `explore`. */
  page: field(z.string(), {
    input: { schema: z.string().regex(/^[a-z][a-z-]{0,39}$/, 'must be the name of a page, such as explore') },
  }),
  name: field(z.string(), { input: { schema: line(80) } }),
  query: field(z.string(), { input: { schema: text(1_000) } }),
  /** Everybody in the tenant has it. */
  isShared: field(z.boolean(), { name: 'shared' }),
  /** Display name of the person who saved it. */
  createdBy: field(z.string(), { name: 'by' }),
  createdAt: field(instant, { wire: false }),
};

export type SavedView = RecordOf<typeof viewFields>;

export const viewRecord = record('views', viewFields);

/** The fields of a view that people set. */
export const viewRequest = viewRecord.input('console', ['page', 'name', 'query', 'isShared']);

export type SavedViewPatch = Partial<Pick<SavedView, 'page' | 'name' | 'query' | 'isShared'>>;

/** Views of one person. */
export const maxViews = 100;
/** Views that a list holds. */
export const maxListedViews = 1_000;
