// The APIs that the hub serves. Operation names are unique over all of them.

import type { ApiFamily } from '../../http/contract/route.ts';
import { api } from './console-routes.ts';
import { hostedApi } from './hosted-routes.ts';

/** Family of the console API. Paths that belong to no other family (pages, `/.well-known`) answer errors like it. */
export const consoleFamily: ApiFamily = { prefix: '', errors: 'detail', routes: api };
export const hostedFamily: ApiFamily = { prefix: '/v1', errors: 'problem', routes: hostedApi };

export const apiFamilies: readonly ApiFamily[] = [consoleFamily, hostedFamily];
