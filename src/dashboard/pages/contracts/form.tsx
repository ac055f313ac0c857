// The form of a new or existing contract: its definition as YAML, with the hub's checks while a person types.
import { type JSX, useEffect, useMemo, useRef, useState } from 'react';
import type { Input } from '../../lib/api.ts';
import { afterSave, useDraft } from '../../lib/drafts.ts';
import { definitionOf, definitionText, problemsOfContract } from '../../lib/engine.ts';
import { useOwnWords } from '../../lib/own-words.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { EditConflict, useEditConflict } from '../../ui/edit-conflict.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Field, Form, Select, useFields } from '../../ui/form.tsx';
import { Button } from '../../ui/parts.tsx';
import { Assistance } from './assistance.tsx';
import { Caught } from './caught.tsx';
import { type Starter, starters } from './starters.ts';

export interface FormContract {
  readonly contract_id: string;
  readonly name: string;
  readonly type: Starter['type'];
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly definition: object;
}

interface SavedContract extends FormContract {
  readonly version: number;
  /** Time of the version. */
  readonly created_at: string;
}

export interface ContractFormProps {
  /** The newest version; undefined for a new contract. */
  readonly contract?: SavedContract;
  /** Initial content in place of the contract's. */
  readonly draft?: FormContract | undefined;
  /** The contract to copy into a new one. */
  readonly copy?: boolean;
  /** The environment of the draft's call. The form replays its calls at once. */
  readonly seenIn?: string;
  /** Unsaved texts survive a reload under this name. */
  readonly draftName: string;
  readonly onClose: () => void;
  /** @param version the saved version */
  readonly onDone: (id: string, version: number) => void;
}

interface ContractDraft {
  readonly texts: FormTexts;
  /** The version that the changes are based on. */
  readonly base?: number | undefined;
}

const first = starters[0];

/** The texts of the form, and the version that they are based on. */
function useTexts({ contract, draft, copy = false, draftName }: ContractFormProps) {
  const [kept, keep] = useDraft<ContractDraft>(draftName);
  const [base, setBase] = useState(kept ? kept.base : contract?.version);
  const [form, bind, setForm] = useFields(() => kept?.texts ?? textsOf(draft ?? contract, copy));
  const [initial, setInitial] = useState(form);
  useEffect(() => {
    if (form !== initial) keep({ texts: form, base });
  }, [form, initial, base, keep]);
  return {
    ...{ form, bind, setForm, base },
    isKept: kept !== null,
    discard: () => keep(null),
    saved: (sent: FormTexts, version: number): void =>
      keep(afterSave(({ texts }) => texts === sent, version)),
    /** Bases the texts on the newest version. */
    rebase: (): void => {
      setBase(contract?.version);
      keep({ texts: form, base: contract?.version });
    },
    /** Replaces the texts by those of the newest version. */
    load: (): void => {
      const saved = textsOf(contract, copy);
      setBase(contract?.version);
      setInitial(saved);
      setForm(saved);
      keep(null);
    },
  };
}

/**
 * Creates the contract of a form, or adds a version to its contract.
 * @param base its id and the version that the form is based on; null creates one
 * @param onSaved runs after every success, whatever page is open
 */
function useSave(
  base: { readonly contract_id: string; readonly version: number | undefined } | null,
  onSaved: (sent: FormTexts, version: number) => void,
) {
  const sent = useRef<FormTexts | null>(null);
  const onSuccess = ({ version }: { readonly version: number }): void => {
    if (sent.current !== null) onSaved(sent.current, version);
  };
  const create = useAction('createContract', ['listContracts'], onSuccess);
  const update = useAction('updateContract', ['listContracts', 'getContract'], onSuccess);
  const act = (form: FormTexts, definition: object, done: (version: number) => void): void => {
    sent.current = form;
    const { id, type, name, description, tags } = form;
    const shared = {
      name: name || id,
      description: description || null,
      tags: tagsOf(tags),
      definition,
    };
    const success = ({ version }: { readonly version: number }): void => done(version);
    if (base === null)
      create.mutate({ body: { contract_id: id, type, ...shared } } as Input<'createContract'>, success);
    else
      update.mutate(
        {
          params: { contract_id: base.contract_id },
          body: shared,
          ifMatch: String(base.version),
        } as Input<'updateContract'>,
        success,
      );
  };
  return { act, by: base === null ? create : update };
}

export function ContractForm(props: ContractFormProps): JSX.Element {
  const { contract, draft, copy, seenIn, onClose, onDone } = props;
  const isNew = contract === undefined || copy === true;
  const texts = useTexts(props);
  const { form, bind, setForm, base } = texts;
  const tools = useSeenTools();
  const words = useOwnWords();
  const save = useSave(isNew ? null : { contract_id: contract.contract_id, version: base }, texts.saved);
  const { hasMoved, by, settle } = useEditConflict(!isNew && base !== contract.version, save.by);
  const problems = useMemo(
    () => problemsOfContract(form.id, form.type, form.text, words),
    [form.id, form.type, form.text, words],
  );
  const definition = useMemo(() => definitionOf(form.text), [form.text]);
  const broken = definition === null || problems.some(({ severity }) => severity === 'error');
  const submit = (): void => {
    if (definition) save.act(form, definition, (version) => onDone(form.id, version));
  };
  return (
    <Form
      onSubmit={submit}
      by={by}
      act={isNew ? 'Add contract' : 'Save as new version'}
      operation={isNew ? 'createContract' : 'updateContract'}
      isOff={broken || hasMoved}
      buttons={
        <>
          {broken && <span className="field-error">Fix the problems before you save.</span>}
          <Button
            onClick={() => {
              texts.discard();
              onClose();
            }}
          >
            {texts.isKept ? 'Discard draft' : 'Cancel'}
          </Button>
        </>
      }
    >
      {!contract && !draft && (
        <Starters onStart={({ type, text }) => setForm((before) => ({ ...before, type, text }))} />
      )}
      <div className="columns-two">
        {isNew && (
          <>
            <Field
              {...bind('id', 'contract_id')}
              label="ID"
              required
              maxLength={128}
              help="Use lowercase letters, digits, - and _."
            />
            <Select {...bind('type')} label="Type" options={['pre', 'post', 'session', 'sandbox']} />
          </>
        )}
        <Field {...bind('name')} label="Name" maxLength={255} />
        <Field {...bind('tags')} label="Tags" help="Separate tags with commas." />
      </div>
      <Field {...bind('description')} label="Description" />
      <Assistance
        name={form.name || form.id}
        type={form.type}
        yaml={form.text}
        description={form.description}
        onDescription={bind('description').onValue}
        onYaml={bind('text').onValue}
      />
      <Editor
        label="Definition as YAML"
        value={form.text}
        onValue={bind('text').onValue}
        problems={problems}
        tools={tools}
      />
      <Caught id={form.id} type={form.type} text={form.text} broken={broken} seenIn={seenIn} />
      {hasMoved && contract && (
        <EditConflict
          noun="contract"
          savedAt={contract.created_at}
          onLoad={() => settle(texts.load)}
          onKeep={() => settle(texts.rebase)}
        />
      )}
    </Form>
  );
}

/** The texts of the fields at first. */
const textsOf = (begun: FormContract | undefined, isCopy: boolean) => ({
  id: begun ? (isCopy ? `${begun.contract_id}-copy` : begun.contract_id) : '',
  name: begun?.name ?? '',
  type: begun?.type ?? first?.type ?? 'pre',
  description: begun?.description ?? '',
  tags: begun?.tags.join(', ') ?? '',
  text: begun ? definitionText(begun.definition) : (first?.text ?? ''),
});

type FormTexts = ReturnType<typeof textsOf>;

const tagsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

const Starters = ({ onStart }: { readonly onStart: (starter: Starter) => void }): JSX.Element => (
  <div className="decide-buttons starters">
    <span className="muted">Start from</span>
    {starters.map((starter) => (
      <Button key={starter.name} onClick={() => onStart(starter)}>
        {starter.name}
      </Button>
    ))}
  </div>
);

/** Tools with recent calls, the most used first. */
function useSeenTools(): readonly string[] {
  const { data } = useCall('eventFacets', { query: {} });
  return data?.facets.tool_name.top.map(({ value }) => value) ?? [];
}
