// Retention in the words of the console API.
import type { Handlers } from '../../http/contract/handler.ts';
import { principalOf } from '../../http/contract/principal.ts';
import { iso } from '../../http/contract/render.ts';
import { omitUndefined } from '../../shared/omit-undefined.ts';
import { keepEverything, type RetentionPolicy } from '../rules/retention.ts';
import type { Setting } from '../rules/settings.ts';
import type { retentionRoutes } from './retention-routes.ts';

export const retention: Handlers<typeof retentionRoutes> = {
  retention: async ({ app }, _input, caller) => render(await app.retention.get(principalOf(caller))),
  putRetention: async ({ app }, { body }, caller) =>
    render(await app.retention.update(principalOf(caller), policyIn(body))),
  async previewRetention({ app }, { body }, caller) {
    const { counts, at } = await app.retention.preview(principalOf(caller), policyIn(body));
    return { ...counts, as_of: iso(at) };
  },
};

interface Days {
  readonly events_days?: number | undefined;
  readonly approvals_days?: number | undefined;
  readonly runs_days?: number | undefined;
  readonly deliveries_days?: number | undefined;
}

const policyIn = (days: Days): Partial<RetentionPolicy> =>
  omitUndefined({
    events: days.events_days,
    approvals: days.approvals_days,
    runs: days.runs_days,
    deliveries: days.deliveries_days,
  });

function render(setting: Setting<'retention'> | null) {
  const { events, approvals, runs, deliveries } = setting?.value ?? keepEverything;
  return {
    events_days: events,
    approvals_days: approvals,
    runs_days: runs,
    deliveries_days: deliveries,
    updated_at: setting ? iso(setting.updatedAt) : null,
    updated_by: setting?.updatedBy ?? null,
  };
}
