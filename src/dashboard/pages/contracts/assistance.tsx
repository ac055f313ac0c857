// AI assistance, if a model is configured: a description of the contract, and answers about its YAML. The page displays
// the model's output as text, never as markup.
import { type JSX, useEffect, useRef, useState } from 'react';
import {
  ApiError,
  addressOf,
  errorOf,
  type Input,
  type Reply,
  sessionEnded,
  unreachable,
} from '../../lib/api.ts';
import { readEvents } from '../../lib/event-stream.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { count } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Field } from '../../ui/form.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';

export interface AssistanceProps {
  readonly name: string;
  readonly type: string;
  readonly yaml: string;
  /** The present one, which a generated one replaces unless it changed during the request. */
  readonly description: string;
  readonly onDescription: (text: string) => void;
  readonly onYaml: (text: string) => void;
}

export function Assistance(props: AssistanceProps): JSX.Element | null {
  const settings = useCall('aiSettings');
  if (!settings.data) return null;
  if (settings.data.configured) return <Configured {...props} />;
  return (
    <p className="muted">
      Writing assistance is off because no model is configured. An admin can configure one in Settings.
    </p>
  );
}

function Configured({ name, type, yaml, description, onDescription, onYaml }: AssistanceProps): JSX.Element {
  const describe = useAction('generateDescription');
  /** Null before the first opening. */
  const [open, setOpen] = useState<boolean | null>(null);
  /** A generated description, while the field has another text than before the request. */
  const [otherDescription, setOtherDescription] = useState<string | null>(null);
  const present = useRef(description);
  present.current = description;
  const take = (text: string): void => {
    setOtherDescription(null);
    onDescription(text);
  };
  const generate = (): void => {
    const body = { name: name || 'contract', type, definition_yaml: yaml };
    describe.mutate(
      { body } as Input<'generateDescription'>,
      ({ description: generated }: Reply<'generateDescription'>) => {
        if (present.current === description) take(generated);
        else setOtherDescription(generated);
      },
    );
  };
  return (
    <>
      <div className="decide-buttons">
        <ActButton
          operation="generateDescription"
          busy={describe.isPending}
          disabled={yaml.trim() === ''}
          onClick={generate}
        >
          Generate description
        </ActButton>
        <Button aria-expanded={open === true} onClick={() => setOpen(!open)}>
          {open ? 'Hide assistant' : 'Open assistant'}
        </Button>
      </div>
      {describe.error && <Failed error={describe.error} />}
      {otherDescription !== null && (
        <div className="notice notice-plain" role="status">
          <DataParagraph text={otherDescription} mono={false} max={1_000} />
          <Button onClick={() => take(otherDescription)}>Use this description</Button>
        </div>
      )}
      {open !== null && (
        // Hidden, it keeps its lines and the answer that arrives.
        <div hidden={!open}>
          <Conversation yaml={yaml} onYaml={onYaml} />
        </div>
      )}
    </>
  );
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /** The assistant's checks for an answer, in order. */
  readonly tries?: readonly Try[];
  readonly usage?: string;
}

interface Try {
  readonly id: string;
  readonly tool: string;
  /** Undefined while the check runs. */
  readonly ms?: number;
}

/** The answer to a question so far. */
type Heard = { readonly text: string } | { readonly try: Try } | { readonly usage: string };

const tries: { readonly [tool: string]: string } = {
  validate_contract: 'Validated the suggested YAML',
  evaluate_contract: 'Tested the suggested YAML with a call',
};

/** The hub's maximum of messages. */
const maxLines = 50;
const maxContent = 10_000;
/** Maximum of displayed characters of an answer. */
const maxAnswer = 40_000;

/** Sends a question, and passes on the parts of the answer as they arrive. @throws ApiError */
async function ask(
  messages: readonly Message[],
  yaml: string,
  signal: AbortSignal,
  onHeard: (heard: Heard) => void,
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
  if (response.status === 401) sessionEnded();
  if (!response.ok || !response.body) throw errorOf(response, await response.text());
  let failed: string | null = null;
  await readEvents(response.body, {
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const frame = JSON.parse(data) as { readonly [name: string]: unknown };
      if (frame.type === 'content_chunk') onHeard({ text: String(frame.content) });
      if (frame.type === 'tool_call_start')
        onHeard({ try: { id: String(frame.id), tool: String(frame.tool) } });
      if (frame.type === 'tool_call_result')
        onHeard({ try: { id: String(frame.id), tool: String(frame.tool), ms: Number(frame.duration_ms) } });
      if (frame.type === 'usage') onHeard({ usage: usageText(frame) });
      if (frame.type === 'error') failed = String(frame.error);
    },
  });
  if (failed !== null) throw new ApiError(502, 'assistant', failed, null);
}

function usageText({
  model,
  total_tokens: tokens,
  estimated_cost_usd: cost,
}: Readonly<{ [name: string]: unknown }>) {
  const price = typeof cost === 'number' ? `, about $${cost.toFixed(4)}` : '';
  return `${String(model)}, ${count(Number(tokens) || 0)} tokens${price}`;
}

/** The last code block of an answer. */
const codeOf = (text: string): string | null =>
  [...text.matchAll(/```(?:ya?ml)?\n([\s\S]*?)```/g)].at(-1)?.[1] ?? null;

/** A question or an answer. @param isWhole false while the answer arrives */
function Line({
  line: { role, content, tries: toolCalls = [], usage },
  isWhole,
  onYaml,
}: Readonly<{ line: Message; isWhole: boolean; onYaml: (text: string) => void }>): JSX.Element {
  const code = role === 'assistant' && isWhole ? codeOf(content) : null;
  return (
    <li className={`assistant-${role}`}>
      <strong>{role === 'user' ? 'You' : 'Assistant'}</strong>
      {toolCalls.map(({ id, tool, ms }) => (
        <p key={id} className="muted">
          {tries[tool] ?? tool}
          {ms === undefined ? ' …' : `, in ${count(Math.round(ms))} ms`}
        </p>
      ))}
      {content === '' ? (
        <p>…</p>
      ) : role === 'assistant' ? (
        <Markdown text={content.slice(0, maxAnswer)} />
      ) : (
        <DataParagraph className="assistant-text" text={content} mono={false} max={20_000} />
      )}
      <DataParagraph className="muted numbers" text={usage} mono={false} />
      {code !== null && <Button onClick={() => onYaml(code)}>Insert YAML</Button>}
    </li>
  );
}

function Conversation({
  yaml,
  onYaml,
}: Readonly<{ yaml: string; onYaml: (text: string) => void }>): JSX.Element {
  const [lines, setLines] = useState<readonly Message[]>([]);
  const [question, setQuestion] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const send = async (): Promise<void> => {
    const conversation: readonly Message[] = [...lines, { role: 'user', content: question }];
    const cut = new AbortController();
    stop.current = cut;
    setError(null);
    setBusy(true);
    setQuestion('');
    setLines([...conversation, { role: 'assistant', content: '' }]);
    let answer = '';
    let tried: readonly Try[] = [];
    let usage: string | undefined;
    try {
      await ask(conversation, yaml, cut.signal, (heard) => {
        if ('text' in heard) answer += heard.text;
        else if ('usage' in heard) usage = heard.usage;
        else tried = [...tried.filter(({ id }) => id !== heard.try.id), heard.try];
        setLines([
          ...conversation,
          { role: 'assistant', content: answer, tries: tried, ...(usage === undefined ? {} : { usage }) },
        ]);
      });
    } catch (failure) {
      if (!cut.signal.aborted) {
        setError(
          failure instanceof ApiError
            ? failure
            : new ApiError(
                0,
                'assistant',
                'The connection closed before the answer was complete. Ask again.',
                null,
              ),
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
        {lines.map((line, index) => (
          <Line
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added
            key={index}
            line={line}
            isWhole={!(busy && index === lines.length - 1)}
            onYaml={onYaml}
          />
        ))}
      </ol>
      {error && <Failed error={error} />}
      <Field
        label="Question for the assistant"
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
        <ActButton
          operation="assistContracts"
          busy={busy}
          disabled={question.trim() === ''}
          onClick={() => void send()}
        >
          Send question
        </ActButton>
        {busy && <Button onClick={() => stop.current?.abort()}>Stop answer</Button>}
      </div>
    </section>
  );
}
