import { describe, expect, it } from 'vitest';
import type { ApiFamily, RouteTable } from '../../src/http/contract/route.ts';
import { openApiText } from '../../src/hub/api/openapi.ts';
import { keyRoutes } from '../../src/key/console/routes.ts';
import { hostedTestRoutes, testRoutes, wire } from './fixtures.ts';

const options = { title: 'Reeve', version: '0.1.0', baseUrl: 'http://localhost:8000', wire };

const family = (routes: RouteTable): ApiFamily => ({ prefix: '', errors: 'detail', routes });
const hosted: ApiFamily = { prefix: '/v1', errors: 'problem', routes: hostedTestRoutes };

describe('the OpenAPI document', () => {
  const text = openApiText([family(testRoutes), family(keyRoutes), hosted], options);
  const document = JSON.parse(text);

  it('is the same text whatever the order of the tables', () => {
    expect(openApiText([hosted, family(keyRoutes), family(testRoutes)], options)).toBe(text);
  });

  it('describes parameters, bodies, replies, errors and who may call', () => {
    expect(document.openapi).toBe('3.1.0');
    const revoke = document.paths['/api/v1/keys/{key_id}'].delete;
    expect(revoke.operationId).toBe('revokeKey');
    expect(revoke.parameters).toMatchObject([{ name: 'key_id', in: 'path', required: true }]);
    expect(Object.keys(revoke.responses)).toEqual(['204', '401', '403', '404', '422']);
    expect(revoke.security).toEqual([{ cookie: [] }]);
    const create = document.paths['/api/v1/keys'].post;
    const { schemas } = document.components;
    const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(create.requestBody.content['application/json'].schema).toEqual(refer('CreateKeyRequest'));
    expect(schemas.CreateKeyRequest.properties.env).toEqual(refer('Environment'));
    expect(schemas.Environment.enum).toContain('staging');
    expect(create.responses['201'].content['application/json'].schema).toEqual(refer('CreateKeyReply'));
    expect(schemas.CreateKeyReply.required).toContain('key');
    expect(document.paths['/api/v1/sessions/{key}'].get.operationId).toBe('getValue');
  });

  it('describes the errors of each API in the form that it writes', () => {
    const { responses, security, description } = document.paths['/v1/echo'].post;
    expect(responses['422'].content).toEqual({
      'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDocument' } },
    });
    expect(security).toEqual([{ apiKey: [] }, { operatorToken: [] }]);
    expect(description).toBe('An API key or an operator with a token of the role operator.');
  });

  it('refuses two routes that share a schema without a name', () => {
    const { createKey } = keyRoutes;
    const again = { again: { ...createKey, path: '/api/v1/again' } };
    expect(() => openApiText([family(keyRoutes), family(again)], options)).toThrow(
      'src/hub/api/components.ts',
    );
  });

  it('documents streams with their events', () => {
    const stream = document.paths['/api/v1/stream'].get;
    const events = stream.responses['200'].content['text/event-stream']['x-events'];
    expect(stream.description).toContain('contract_update');
    expect(events.assignment_changed.data.$ref).toBe('#/components/schemas/AgentAssignmentChangedEvent');
    expect(document.components.schemas.ContractUpdateEvent.properties.type.const).toBe('contract_update');
    expect(stream.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'env',
      'bundle_name',
      'x-service-agent-id',
      'last-event-id',
    ]);
  });
});
