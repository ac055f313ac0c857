// What a model helps with where one is configured: a description of the contract, and answers about its YAML. What it
// writes is text, never markup.
import { type JSX, useRef, useState } from 'react';
import { ApiError, addressOf, errorOf, type Input, type Reply, unreachable } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { SseReader } from '../../live/sse.ts';
import { Button, Data, Failed, Field } from '../../ui/parts.tsx';

export interface AssistanceProps {
  readonly name: string;
  readonly type: string;
  readonly yaml: string;
  readonly onDescription: (text: string) => void;
  readonly onYaml: (text: string) => void;
}

export function Assistance(props: AssistanceProps): JSX.Element | null {
  const settings = useCall('aiSettings');
  if (!settings.data?.configured) return null;
  return <Configured {...props} />;
}

function Configured({ name, type, yaml, onDescription, onYaml }: AssistanceProps): JSX.Element {
  const describe = useAction('generateDescription');
  const [open, setOpen] = useState(false);
  return (
    <>
      <div className="decide-buttons">
        <Button
          busy={describe.isPending}
          disabled={yaml.trim() === ''}
          onClick={() =>
            describe.mutate(
              {
                body: { name: name || 'contract', type, definition_yaml: yaml },
              } as Input<'generateDescription'>,
              {
                onSuccess: ({ description }: Reply<'generateDescription'>) => onDescription(description),
              },
            )
          }
        >
          Generate the description
        </Button>
        <Button aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Hide the assistant' : 'Ask the assistant'}
        </Button>
      </div>
      {describe.error && <Failed error={describe.error} />}
      {open && <Conversation yaml={yaml} onYaml={onYaml} />}
    </>
  );
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** The hub takes so many lines. */
const maxLines = 50;
const maxContent = 10_000;

/** Asks, and tells the answer as it comes. @throws ApiError */
async function ask(
  messages: readonly Message[],
  yaml: string,
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<void> {
  const response = await fetch(addressOf('assistContracts'), {
    method: 'POST',
    headers: { 'X-Requested-With': 'reeve-console', 'Content-Type': 'application/json' },
    body: JSON.stringify({
      messages: messages.slice(-maxLines + 1).map(({ role, content }) => ({
        role,
        content: content.slice(0, maxContent) || '(nothing)',
      })),
      current_yaml: yaml,
    }),
    signal,
  }).catch(() => {
    throw unreachable();
  });
  if (!response.ok || !response.body) throw errorOf(response, await response.text());
  let failed: string | null = null;
  const parser = new SseReader({
    event: (data) => {
      if (data === '[DONE]') return;
      const frame = JSON.parse(data) as { readonly [name: string]: unknown };
      if (frame.type === 'content_chunk') onText(String(frame.content));
      if (frame.type === 'error') failed = String(frame.error);
    },
    comment: () => undefined,
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parser.take(value);
  }
  if (failed !== null) throw new ApiError(502, 'assistant', failed, null);
}

/** The last block of code in an answer. */
const codeOf = (text: string): string | null =>
  [...text.matchAll(/```(?:ya?ml)?\n([\s\S]*?)```/g)].at(-1)?.[1] ?? null;

function Conversation({
  yaml,
  onYaml,
}: {
  readonly yaml: string;
  readonly onYaml: (text: string) => void;
}): JSX.Element {
  const [lines, setLines] = useState<readonly Message[]>([]);
  const [question, setQuestion] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  const send = async (): Promise<void> => {
    const asked: readonly Message[] = [...lines, { role: 'user', content: question }];
    const cut = new AbortController();
    stop.current = cut;
    setError(null);
    setBusy(true);
    setQuestion('');
    setLines([...asked, { role: 'assistant', content: '' }]);
    let answer = '';
    try {
      await ask(asked, yaml, cut.signal, (text) => {
        answer += text;
        setLines([...asked, { role: 'assistant', content: answer }]);
      });
    } catch (failure) {
      if (!cut.signal.aborted) {
        setError(
          failure instanceof ApiError
            ? failure
            : new ApiError(0, 'assistant', 'The answer broke off. Ask again.', null),
        );
        if (answer === '') {
          setLines(lines);
          setQuestion(question);
        }
      }
    }
    setBusy(false);
  };
  return (
    <section className="form assistant" aria-label="Assistant">
      <ol className="assistant-lines" aria-live="polite">
        {lines.map(({ role, content }, index) => {
          const code = role === 'assistant' && !(busy && index === lines.length - 1) ? codeOf(content) : null;
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added
            <li key={index} className={`assistant-${role}`}>
              <strong>{role === 'user' ? 'You' : 'Assistant'}</strong>
              <p className="assistant-text">
                {content === '' ? '…' : <Data text={content} mono={false} max={20_000} />}
              </p>
              {code !== null && (
                <Button onClick={() => onYaml(code)}>Put this YAML into the definition</Button>
              )}
            </li>
          );
        })}
      </ol>
      {error && <Failed error={error} />}
      <Field
        label="Question to the assistant"
        value={question}
        maxLength={maxContent}
        onValue={setQuestion}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          if (!busy && question.trim() !== '') void send();
        }}
      />
      <div className="decide-buttons">
        <Button busy={busy} disabled={question.trim() === ''} onClick={() => void send()}>
          Ask
        </Button>
        {busy && <Button onClick={() => stop.current?.abort()}>Stop</Button>}
      </div>
    </section>
  );
}
