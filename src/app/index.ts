// All use cases, made once with their ports.
import { createAssembler } from './assembly.ts';
import { type Bundles, createBundles } from './bundles.ts';
import { type Channels, createChannels } from './channels.ts';
import { type ChatDecisions, createChatDecisions } from './chat-decisions.ts';
import { type Compositions, createCompositions } from './compositions.ts';
import { type Contracts, createContracts } from './contracts.ts';
import { createDeployments, type Deployments } from './deployments.ts';
import { createNotifications, type Notifications } from './notifications.ts';
import { createPeople, type People } from './people.ts';
import type { AppPorts } from './ports.ts';
import { createReleases } from './releases.ts';
import { createRollouts } from './rollouts.ts';
import { createToolSettings, type ToolSettings } from './tool-settings.ts';

/** The use cases, a name per noun. */
export interface App {
  readonly bundles: Bundles;
  readonly channels: Channels;
  readonly chatDecisions: ChatDecisions;
  readonly compositions: Compositions;
  readonly contracts: Contracts;
  readonly deployments: Deployments;
  readonly notifications: Notifications;
  readonly people: People;
  readonly toolSettings: ToolSettings;
}

export function createApp(ports: AppPorts): App {
  const deployments = createDeployments(ports);
  const channels = createChannels(ports);
  const assembler = createAssembler(ports);
  const releases = createReleases({ ...ports, deployments });
  const rollouts = createRollouts({ ...ports, assembler, releases });
  return {
    deployments,
    bundles: createBundles(ports),
    channels,
    chatDecisions: createChatDecisions({ ...ports, channels }),
    notifications: createNotifications({ ...ports, channels }),
    compositions: createCompositions({ ...ports, assembler, releases }),
    contracts: createContracts({ ...ports, rollouts }),
    people: createPeople(ports),
    toolSettings: createToolSettings(ports),
  };
}
