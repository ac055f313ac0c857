// A saved query of a page of the console: a person's own, or shared with the tenant.

export interface SavedView {
  readonly id: string;
  readonly tenantId: string;
  /** The person who saved it. A shared view outlives the person. */
  readonly ownerId: string;
  /** The page that it belongs to, such as `explore`. */
  readonly page: string;
  readonly name: string;
  readonly query: string;
  readonly isShared: boolean;
  /** Display name of the person. */
  readonly createdBy: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export type SavedViewPatch = Partial<Pick<SavedView, 'page' | 'name' | 'query' | 'isShared'>>;

/** Views of one person. */
export const maxViews = 100;
/** Views that a list holds. */
export const maxListedViews = 1_000;
