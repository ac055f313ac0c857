// Fields that several declarations of the hosted API share: identifiers, pages.
import { z } from 'zod';
import { intQuery, text } from './fields.ts';

export { identifier } from '../../shared/schemas.ts';

/** The offset that a list goes to at most. */
export const maxOffset = 10_000;

/** Query parameters of a list: at most `limit` items, without the first `offset`. */
export const hostedPaging = (max: number, usual: number) => ({
  limit: intQuery(1, max).default(usual),
  offset: intQuery(0, maxOffset).default(0),
});

/** Fields beside the items of a list. */
export const pageFields = {
  limit: z.number().int(),
  offset: z.number().int(),
  /** True when more follows: this page may hold fewer than `limit`, because an answer holds 4 MiB. */
  has_more: z.boolean(),
  /** The offset of the next page. Null when nothing is left, beyond the bound of offsets, and after a cursor. */
  next_offset: z.number().int().nullable(),
};

/**
 * `next_cursor` of another page: instead of an offset, without its bound. Items that arrive in between neither repeat
 * nor hide anything.
 */
export const cursorQuery = text(2000, 1).optional();

/** Beginning of the next page of a list with a cursor. */
export const nextFields = {
  /** Null when nothing is left. */
  next_cursor: z.string().nullable(),
};
