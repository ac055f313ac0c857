// Every endpoint of the console API's specification, as its tables list them, is served.
import { expect, it } from 'vitest';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';

const specified = `
POST /api/v1/auth/login
POST /api/v1/auth/logout
GET /api/v1/auth/me
POST /api/v1/setup
GET /api/v1/health
GET /api/v1/health/details
POST /api/v1/keys
GET /api/v1/keys
DELETE /api/v1/keys/{key_id}
GET /api/v1/contracts
POST /api/v1/contracts
POST /api/v1/contracts/import
GET /api/v1/contracts/{contract_id}
GET /api/v1/contracts/{contract_id}/versions/{version}
PUT /api/v1/contracts/{contract_id}
DELETE /api/v1/contracts/{contract_id}
GET /api/v1/contracts/{contract_id}/usage
POST /api/v1/contracts/assist
POST /api/v1/contracts/generate-description
GET /api/v1/compositions
POST /api/v1/compositions
GET /api/v1/compositions/{name}
PUT /api/v1/compositions/{name}
DELETE /api/v1/compositions/{name}
POST /api/v1/compositions/{name}/preview
POST /api/v1/compositions/{name}/deploy
POST /api/v1/bundles
GET /api/v1/bundles
GET /api/v1/bundles/{name}
GET /api/v1/bundles/{name}/current
GET /api/v1/bundles/{name}/{version}
GET /api/v1/bundles/{name}/{version}/yaml
POST /api/v1/bundles/{name}/{version}/deploy
POST /api/v1/bundles/evaluate
GET /api/v1/deployments
POST /api/v1/events
GET /api/v1/events
POST /api/v1/approvals
GET /api/v1/approvals
GET /api/v1/approvals/{approval_id}
PUT /api/v1/approvals/{approval_id}
POST /api/v1/sessions/batch
GET /api/v1/sessions/{key}
PUT /api/v1/sessions/{key}
POST /api/v1/sessions/{key}/increment
DELETE /api/v1/sessions/{key}
GET /api/v1/agents/status
GET /api/v1/agents/fleet-coverage
GET /api/v1/agents/{agent_id}/coverage
GET /api/v1/agents/{agent_id}/history
GET /api/v1/agent-registrations
PATCH /api/v1/agent-registrations/{agent_id}
POST /api/v1/agent-registrations/bulk-assign
GET /api/v1/assignment-rules
POST /api/v1/assignment-rules
PATCH /api/v1/assignment-rules/{rule_id}
DELETE /api/v1/assignment-rules/{rule_id}
GET /api/v1/assignment-rules/resolve/{agent_id}
GET /api/v1/stream
GET /api/v1/stream/dashboard
POST /api/ai/assist
GET /api/v1/notifications/channels
POST /api/v1/notifications/channels
PUT /api/v1/notifications/channels/{channel_id}
DELETE /api/v1/notifications/channels/{channel_id}
POST /api/v1/notifications/channels/{channel_id}/test
POST /api/v1/settings/rotate-signing-key
DELETE /api/v1/settings/purge-events
GET /api/v1/settings/ai
PUT /api/v1/settings/ai
DELETE /api/v1/settings/ai
POST /api/v1/settings/ai/test
GET /api/v1/settings/ai/usage
GET /api/v1/stats/overview
GET /api/v1/stats/contracts
POST /api/v1/chat_bot/webhook/{channel_id}
POST /api/v1/workspace_chat/interactions
GET /api/v1/workspace_chat/manifest
POST /api/v1/community_chat/interactions
`
  .trim()
  .split('\n');

const served = Object.values(api as { readonly [name: string]: RouteDeclaration }).map(
  ({ method, path }) => `${method} ${path.replaceAll('+}', '}')}`,
);

it('every endpoint of the specification is served', () => {
  expect(specified).toHaveLength(79);
  expect(specified.filter((endpoint) => !served.includes(endpoint))).toEqual([]);
});
