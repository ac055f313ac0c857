// The search for things in the console API's words.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import type { searchRoutes } from './routes.ts';

/** Characters of a hint. */
const maxHint = 200;

export const searches: Handlers<typeof searchRoutes> = {
  async searchThings({ app }, { query }, caller) {
    const things = await app.thingSearches.search(principalOf(caller), query.q);
    return {
      results: things.map(({ hint, ...thing }) => ({
        ...thing,
        // The cut may leave half of a surrogate pair.
        hint: hint.slice(0, maxHint).replace(/[\ud800-\udbff]$/, ''),
      })),
    };
  },
};
