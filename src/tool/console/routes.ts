// Routes of tool definitions: observations of agents, pin documents, decisions and modes.
import {
  fingerprintPattern,
  isToolName,
  maxDefinitionBytes,
  maxServerLabel,
  maxToolName,
  maxTools,
} from 'reeve-agent/rules';
import { z } from 'zod';
import { limits } from '../../admission/limit.ts';
import { anyObject, env, line, paging, pathId, text } from '../../http/contract/fields.ts';
import { routes } from '../../http/contract/route.ts';
import { keySuccession } from '../../http/contract/signature.ts';
import {
  maxPinReason,
  maxRefusedListings,
  pinDecision,
  pinMode,
  refusedTool,
  toolDefinitionRecord,
  toolEntryRecord,
  toolServerRecord,
} from '../record.ts';

const server = line(maxServerLabel);
const toolName = z.string().max(maxToolName).refine(isToolName, 'must be the name of a tool');
const fingerprint = z.string().regex(fingerprintPattern, 'must be sha256: and 64 hex characters');

const observedTool = z.object({
  name: toolName,
  fingerprint,
  /** JSON text of the fingerprint's members, or the object. */
  definition: z.union([z.string().max(maxDefinitionBytes), anyObject]).optional(),
});

/** A pin document as a client checks it. */
export const signedPins = z.object({
  /** Canonical JSON of `{tenant, env, server, mode, sequence, pins}`. */
  document: z.string(),
  /** Ed25519 over `reeve-tool-pins-v1`, a line feed and the document, 128 hex characters. */
  signature: z.string(),
  public_key: z.string(),
  key_succession: z.array(keySuccession),
});

export const toolServer = toolServerRecord.reply('console', 'one');
export const toolPin = toolEntryRecord.reply('console', 'one');
export const toolPinDetail = toolDefinitionRecord.reply('console', 'one');

const params = z.object({ pin_id: pathId });

export const toolRoutes = routes({
  observeTools: {
    method: 'POST',
    path: '/api/v1/tool-observations',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'tools',
    summary:
      'Report the tools that an MCP server lists; the answer names lacking definitions and has the signed pins',
    body: z.object({
      agent_id: line(255),
      server,
      server_info: z.object({ name: z.string().max(256), version: z.string().max(256) }).nullish(),
      tools: z.array(observedTool).max(maxTools + 1),
      /** Tools that the agent refuses to list. */
      refused: z.array(refusedTool).max(maxRefusedListings).default([]),
    }),
    agent: 'body',
    limits: [limits.toolObservations],
    status: 200,
    reply: z.object({
      /** Fingerprints whose definitions the hub lacks: send them in a second request. */
      missing: z.array(z.string()),
      /** Tools that the hub has no room for. */
      without_room: z.array(z.string()),
      pins: signedPins,
    }),
    audit: ['tool.first_seen', 'tool.changed'],
    errors: ['forbidden', 'unprocessable', 'validation_failed', 'rate_limited'],
  },
  getPinDocument: {
    method: 'GET',
    path: '/api/v1/tool-pins/document',
    auth: ['key'],
    role: 'agent',
    envs: 'none',
    tag: 'tools',
    summary: "The signed pins of a server in the key's environment",
    query: z.object({ server, env: z.string().max(255).optional() }),
    ownEnvironment: true,
    status: 200,
    reply: signedPins,
    errors: ['env_mismatch', 'unprocessable', 'validation_failed'],
  },
  listToolPins: {
    method: 'GET',
    path: '/api/v1/tool-pins',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'query',
    tag: 'tools',
    summary: 'Servers of an environment and definitions of their tools, undecided ones first',
    query: z.object({
      env,
      server: server.optional(),
      /** `true`: adds `agent_count` to each definition. */
      include_agents: z.enum(['true', 'false']).default('false'),
      ...paging(1000, 200),
    }),
    status: 200,
    reply: z.object({
      env,
      mode: pinMode,
      sequence: z.number().int(),
      servers: z.array(toolServer),
      tools: z.array(
        toolPin.extend({
          /** Agents that reported the definition, at most 100; only with `include_agents`. */
          agent_count: z.number().int().optional(),
        }),
      ),
      /** True if more definitions follow. */
      more: z.boolean(),
    }),
    errors: ['validation_failed'],
  },
  getToolPin: {
    method: 'GET',
    path: '/api/v1/tool-pins/{pin_id}',
    auth: ['cookie'],
    role: 'viewer',
    envs: 'record',
    tag: 'tools',
    summary: 'A definition, and the other definitions of its tool in all environments, oldest first',
    params,
    status: 200,
    reply: toolPinDetail.extend({ mode: pinMode, history: z.array(toolPinDetail) }),
    errors: ['not_found', 'validation_failed'],
    download: true,
  },
  decideToolPin: {
    method: 'PUT',
    path: '/api/v1/tool-pins/{pin_id}',
    auth: ['cookie'],
    role: 'operator',
    envs: 'record',
    tag: 'tools',
    summary: 'Accept or reject a definition in environments; a repeat changes nothing',
    params,
    body: z.object({
      decision: pinDecision,
      envs: z.array(env).min(1).max(3),
      reason: text(maxPinReason).nullish(),
    }),
    status: 200,
    reply: toolPinDetail,
    audit: ['tool.accepted', 'tool.rejected'],
    errors: ['environment_protected', 'not_found', 'conflict', 'validation_failed'],
  },
  setPinMode: {
    method: 'PUT',
    path: '/api/v1/tool-pin-modes',
    auth: ['cookie'],
    role: 'admin',
    envs: 'none',
    tag: 'tools',
    summary: 'Set the mode of an environment, or of a server in it (null: the mode of its environment)',
    body: z
      .object({ env, server: server.nullable().default(null), mode: pinMode.nullable() })
      .refine(({ server: label, mode }) => label !== null || mode !== null, {
        path: ['mode'],
        message: 'must not be null without a server',
      }),
    status: 200,
    reply: z.object({ env, server: z.string().nullable(), mode: pinMode.nullable() }),
    audit: ['tool.mode_changed'],
    errors: ['validation_failed'],
  },
});
