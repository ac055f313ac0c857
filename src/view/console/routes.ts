// Routes of saved views.
import { z } from 'zod';
import { pathId } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { viewRecord, viewRequest } from '../record.ts';

export const savedView = viewRecord.reply('console', 'one').extend({
  /** True for the caller's own view. */
  own: z.boolean(),
});

const fields = viewRequest.shape;
const params = z.object({ view_id: pathId });
const writeErrors = ['validation_failed', 'disk_full', 'overloaded', 'unavailable'] as const;

export const viewRoutes = routes({
  listViews: {
    method: 'GET',
    path: '/api/v1/views',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'none',
    tag: 'views',
    summary: 'Saved views: own and shared ones, by name, at most 1,000',
    status: 200,
    reply: z.array(savedView),
    errors: [],
  },
  createView: {
    method: 'POST',
    path: '/api/v1/views',
    auth: ['cookie'],
    role: 'viewer',
    peopleOnly: true,
    envs: 'none',
    tag: 'views',
    summary: 'Save a view, at most 100 a person; sharing one needs the role operator',
    body: z.object({ ...fields, shared: fields.shared.default(false) }),
    status: 201,
    reply: savedView,
    audit: ['view.created'],
    errors: ['forbidden', 'quota_exceeded', ...writeErrors],
  },
  updateView: {
    method: 'PATCH',
    path: '/api/v1/views/{view_id}',
    auth: ['cookie'],
    role: 'viewer',
    peopleOnly: true,
    envs: 'none',
    tag: 'views',
    summary: "Change a view; another person's shared view, and sharing one, need the role operator",
    params,
    body: z.object(fields).partial(),
    status: 200,
    reply: savedView,
    audit: ['view.updated'],
    errors: ['forbidden', 'not_found', ...writeErrors],
  },
  deleteView: {
    method: 'DELETE',
    path: '/api/v1/views/{view_id}',
    auth: ['cookie'],
    role: 'viewer',
    peopleOnly: true,
    envs: 'none',
    tag: 'views',
    summary: "Delete a view; another person's shared view needs the role operator",
    params,
    status: 204,
    audit: ['view.deleted'],
    errors: ['forbidden', 'not_found', 'validation_failed', 'overloaded', 'unavailable'],
  },
});
