// Tool definitions in the console API's words.

import type { PinMode } from 'reeve-agent/rules';
import type { Handlers } from '../../http/contract/handler.ts';
import { keyPrincipalOf, principalOf } from '../../http/contract/principal.ts';
import { renderSuccessions } from '../../http/contract/signature.ts';
import {
  flatRuling,
  type ToolDefinition,
  type ToolEntry,
  type ToolServer,
  toolDefinitionRecord,
  toolEntryRecord,
  toolServerRecord,
} from '../record.ts';
import type { EnvironmentTools } from '../use-cases/decisions.ts';
import type { SignedPins } from '../use-cases/signed-pins.ts';
import type { toolRoutes } from './routes.ts';

export const tools: Handlers<typeof toolRoutes> = {
  async observeTools({ app }, { body }, caller) {
    const { agent_id: agentId, server, server_info: info, refused } = body;
    const { lacking, withoutRoom, pins } = await app.observations.observe(keyPrincipalOf(caller), {
      agentId,
      server,
      info: info ?? null,
      refused,
      tools: body.tools.map(({ name, fingerprint, definition }) => ({
        name,
        fingerprint,
        definition: typeof definition === 'object' ? JSON.stringify(definition) : (definition ?? null),
      })),
    });
    return { missing: [...lacking], without_room: [...withoutRoom], pins: renderPins(pins) };
  },

  getPinDocument: async ({ app }, { query }, caller) =>
    renderPins(await app.toolPins.getSignedPins(keyPrincipalOf(caller), caller.env, query.server)),

  async listToolPins({ app }, { query }, caller) {
    const { env, server = null, limit, offset } = query;
    const principal = principalOf(caller);
    const environment = await app.toolPins.listServers(principal, env);
    const page = await app.toolPins.listEntries(principal, { env, server }, { limit, offset });
    const { mode, sequence, servers } = environment;
    return {
      env,
      mode,
      sequence,
      servers: servers.map((one) => renderServer(one, mode)),
      tools: page.items.map((entry) => ({
        ...renderEntry(entry, modeOf(environment, entry.server)),
        ...(query.include_agents === 'true' ? { agent_count: entry.agentCount } : {}),
      })),
      more: page.more,
    };
  },

  async getToolPin({ app }, { params }, caller) {
    const principal = principalOf(caller);
    const { definition, history } = await app.toolPins.get(principal, params.pin_id);
    const envs = [...new Set([definition, ...history].map(({ env }) => env))];
    const modes = new Map(
      await Promise.all(
        envs.map(async (env) => {
          const environment = await app.toolPins.listServers(principal, env);
          return [env, modeOf(environment, definition.server)] as const;
        }),
      ),
    );
    const render = (one: ToolDefinition) => renderDefinition(one, modes.get(one.env) ?? 'observe');
    return {
      ...render(definition),
      mode: modes.get(definition.env) ?? 'observe',
      history: history.map(render),
    };
  },

  async decideToolPin({ app }, { params, body }, caller) {
    const principal = principalOf(caller);
    const { decision, envs, reason = null } = body;
    const decided = await app.toolPins.decide(principal, params.pin_id, { decision, envs, reason });
    const environment = await app.toolPins.listServers(principal, decided.env);
    return renderDefinition(decided, modeOf(environment, decided.server));
  },

  async setPinMode({ app }, { body }, caller) {
    const { env, server, mode } = body;
    await app.toolPins.updateMode(principalOf(caller), env, server, mode);
    return { env, server, mode };
  },
};

const modeOf = ({ mode, servers }: EnvironmentTools, label: string): PinMode =>
  servers.find(({ server }) => server === label)?.ownMode ?? mode;

const renderPins = ({ document, signature, publicKey, successions }: SignedPins) => ({
  document,
  signature,
  public_key: publicKey,
  key_succession: renderSuccessions(successions),
});

const renderServer = (server: ToolServer, mode: PinMode) =>
  toolServerRecord.render('console', { ...server, mode: server.ownMode ?? mode });

/** The entry's fields of replies, with the status that follows from its server's mode. */
const flatOf = <E extends ToolEntry>({ ruling, ...entry }: E, mode: PinMode) => {
  const undecided = mode === 'observe' ? 'observed' : 'waiting';
  return { ...entry, ...flatRuling(ruling), status: ruling?.decision ?? undecided } as const;
};

const renderEntry = (entry: ToolEntry, mode: PinMode) =>
  toolEntryRecord.render('console', flatOf(entry, mode));

const renderDefinition = (definition: ToolDefinition, mode: PinMode) =>
  toolDefinitionRecord.render('console', flatOf(definition, mode));
