// Saved views in the console API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { type SavedView, viewRecord, viewRequest } from '../record.ts';
import type { viewRoutes } from './routes.ts';

const render = (view: SavedView, callerId: string) => ({
  ...viewRecord.render('console', view),
  own: view.ownerId === callerId,
});

export const views: Handlers<typeof viewRoutes> = {
  listViews: async ({ app }, _input, caller) =>
    (await app.views.list(principalOf(caller))).map((view) => render(view, caller.userId)),

  async createView({ app }, { body }, caller) {
    const view = await app.views.create(principalOf(caller), viewRequest.read(body));
    return render(view, caller.userId);
  },

  async updateView({ app }, { params, body }, caller) {
    const { shared: isShared, page, name, query } = body;
    const patch = omitUndefined({ page, name, query, isShared });
    return render(await app.views.update(principalOf(caller), params.view_id, patch), caller.userId);
  },

  async deleteView({ app }, { params }, caller) {
    await app.views.remove(principalOf(caller), params.view_id);
    return null;
  },
};
