// Saved views: everybody's own, and those that are shared with the tenant. Keeps promise P73.
import { recorded } from '../audit/note.ts';
import { requireRole } from '../shared/access.ts';
import { HubError, notFound } from '../shared/error.ts';
import { actorName, type Principal } from '../shared/principal.ts';
import type { AppPorts } from '../shared/use-case-ports.ts';
import { maxListedViews, maxViews, type SavedView, type SavedViewPatch } from './record.ts';

export type NewView = Pick<SavedView, 'page' | 'name' | 'query' | 'isShared'>;

export interface Views {
  /** Own and shared ones, by name. */
  list(principal: Principal): Promise<readonly SavedView[]>;
  /** @throws HubError forbidden (sharing needs the role operator), person_required, quota_exceeded */
  create(principal: Principal, view: NewView): Promise<SavedView>;
  /** @throws HubError forbidden, person_required, not_found: also for what another person has not shared */
  update(principal: Principal, id: string, patch: SavedViewPatch): Promise<SavedView>;
  /** @throws HubError as `update` */
  remove(principal: Principal, id: string): Promise<void>;
}

const absent = () => notFound('View not found.');

const personOf = ({ actor }: Principal): string => {
  if (actor.kind === 'user') return actor.id;
  throw new HubError('person_required', 'Only people have views. Sign in as a person.');
};

type Ports = Pick<AppPorts, 'store' | 'clock' | 'secrets'>;

export const createViews = (ports: Ports): Views => ({
  list({ tenantId, actor }) {
    return ports.store.views.list(tenantId, actor.kind === 'user' ? actor.id : null, maxListedViews);
  },

  async create(principal, view) {
    const { tenantId, actor } = principal;
    const ownerId = personOf(principal);
    if (view.isShared) requireRole(principal, 'operator');
    const record: SavedView = {
      ...view,
      id: ports.secrets.uuid(),
      tenantId,
      ownerId,
      createdBy: actorName(actor),
      createdAt: ports.clock.now(),
    };
    const answer = await storeFor(ports, principal, 'created', record, view.isShared).create(
      record,
      maxViews,
    );
    if (answer === 'full') {
      throw new HubError(
        'quota_exceeded',
        `You have ${maxViews} views, which is the limit. Delete one, then save this one again.`,
      );
    }
    return record;
  },

  async update(principal, id, patch) {
    const view = await changeable(ports, principal, id);
    const isShared = patch.isShared ?? view.isShared;
    if (isShared && !view.isShared) requireRole(principal, 'operator');
    const stores = storeFor(ports, principal, 'updated', view, isShared || view.isShared);
    const updated = await stores.update(principal.tenantId, id, patch);
    if (!updated) throw absent();
    return updated;
  },

  async remove(principal, id) {
    const view = await changeable(ports, principal, id);
    const removed = await storeFor(ports, principal, 'deleted', view, view.isShared).remove(
      principal.tenantId,
      id,
    );
    if (!removed) throw absent();
  },
});

/** A person's own views have no entry: they change nothing for others. */
const storeFor = (
  ports: Ports,
  principal: Principal,
  became: string,
  view: SavedView,
  isForOthers: boolean,
) =>
  isForOthers
    ? recorded(ports, 'view', principal, became, view.id, { name: view.name, details: { page: view.page } })
        .views
    : ports.store.views;

/** The view, if the person may change it. */
async function changeable({ store }: Ports, principal: Principal, id: string): Promise<SavedView> {
  const personId = personOf(principal);
  const view = await store.views.get(principal.tenantId, id);
  if (!view || !(view.isShared || view.ownerId === personId)) throw absent();
  if (view.ownerId !== personId) requireRole(principal, 'operator');
  return view;
}
