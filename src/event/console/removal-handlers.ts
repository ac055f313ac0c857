// The removal of old events in the console API's words.

import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { HubError } from '../../shared/error.ts';
import type { RemovalAge } from '../use-cases/removal.ts';
import type { removalRoutes } from './removal-routes.ts';

export const eventRemoval: Handlers<typeof removalRoutes> = {
  async purgeEvents({ app }, { query }, caller) {
    const isDry = query.dry_run === 'true';
    const { removed, cutoff, complete } = await app.eventRemoval[isDry ? 'count' : 'remove'](
      principalOf(caller),
      ageOf(query),
    );
    return { deleted_count: removed, cutoff: iso(cutoff), complete, dry_run: isDry };
  },
};

/** @throws HubError validation_failed unless one of the two is there */
function ageOf(query: {
  readonly older_than_days?: number | undefined;
  readonly older_than_hours?: number | undefined;
}): RemovalAge {
  const { older_than_days: days, older_than_hours: hours } = query;
  if (days !== undefined && hours === undefined) return { unit: 'days', count: days };
  if (hours !== undefined && days === undefined) return { unit: 'hours', count: hours };
  throw new HubError(
    'validation_failed',
    'The request needs one age. Send either older_than_days or older_than_hours.',
  );
}
