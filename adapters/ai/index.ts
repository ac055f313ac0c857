// Language models over the outbound guard: which provider speaks which format, and at which address.

import type { AiModels } from '../../src/assistant/port/model.ts';
import type { AiAddresses, AiProvider } from '../../src/assistant/record.ts';
import type { Outbound } from '../../src/shared/ports/outbound.ts';
import { askOver, type WireFormat } from './call.ts';
import { chatCompletionsFormat } from './chat-completions.ts';
import { messagesFormat } from './messages.ts';

const formats: { readonly [P in AiProvider]: WireFormat } = {
  hosted_a: messagesFormat,
  hosted_b: chatCompletionsFormat,
  router: chatCompletionsFormat,
  local: chatCompletionsFormat,
};

export const createAiModels = (outbound: Pick<Outbound, 'open'>, addresses: AiAddresses): AiModels => ({
  ask: (request) => {
    const { provider, baseUrl } = request.target;
    return askOver(outbound, formats[provider], baseUrl ?? addresses[provider], request);
  },
});
