// The form of a ruleset: checks the text while a person types, and saves it as the next version, with or without a
// deployment.
import { type JSX, useMemo, useRef, useState } from 'react';
import { afterSave, useDraft } from '../../lib/drafts.ts';
import { definitionOf } from '../../lib/engine.ts';
import { useHosted, useHostedAction } from '../../lib/hosted-query.ts';
import { useProblems } from '../../lib/own-words.ts';
import { useRefused } from '../../lib/refused.ts';
import { envs } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { ofDocument, unableIn } from '../../lib/unable.ts';
import { EditConflict, useEditConflict } from '../../ui/edit-conflict.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Form, Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { ForceForm } from '../changes/force.tsx';
import { starterRuleset } from '../contracts/starters.ts';

interface Props {
  /** The ruleset for a next version. Undefined: a new ruleset. */
  readonly name?: string;
  readonly onDone: (name: string) => void;
}

export function RulesetForm({ name, onDone }: Props): JSX.Element {
  return name === undefined ? (
    <RulesetFields stored={{ yaml_content: starterRuleset, revision_hash: '' }} onDone={onDone} />
  ) : (
    <NextVersion name={name} onDone={onDone} />
  );
}

/** The editor appears after the document has loaded. */
function NextVersion({ name, onDone }: Required<Props>): JSX.Element {
  const before = useHosted('hostedGetRuleset', { params: { name } });
  return (
    <QueryResult query={before} rows={8}>
      {(stored) => <RulesetFields name={name} stored={stored} onDone={onDone} />}
    </QueryResult>
  );
}

const touched = ['hostedListRulesets', 'hostedRulesetVersions', 'hostedGetRuleset'] as const;

interface StoredRuleset {
  readonly yaml_content: string;
  /** Empty for a new ruleset. */
  readonly revision_hash: string;
  readonly created_at?: string;
}

interface RulesetDraft {
  readonly text: string;
  /** Revision of the version that the text is based on. */
  readonly base: string;
}

/**
 * The unsaved text of a ruleset.
 * @param stored the newest version, the initial text
 */
function useText(name: string | undefined, { yaml_content: saved, revision_hash: newest }: StoredRuleset) {
  const [draft, setDraft] = useDraft<RulesetDraft>(`ruleset ${name ?? ''}`);
  const text = draft?.text ?? saved;
  const base = draft === null || text === saved ? newest : draft.base;
  return {
    text,
    base,
    isDraft: draft !== null,
    /** Another user saved a version after the one that the text is based on. */
    isOld: base !== newest,
    set: (next: string): void => {
      if (next !== text) setDraft({ text: next, base });
    },
    keep: () => setDraft({ text, base: newest }),
    discard: () => setDraft(null),
    saved: (sent: string, revision: string): void =>
      setDraft(afterSave(({ text }) => text === sent, revision)),
  };
}

function RulesetFields({ name, stored, onDone }: Props & { readonly stored: StoredRuleset }): JSX.Element {
  const own = useText(name, stored);
  const { text } = own;
  const sent = useRef('');
  const save = useHostedAction('hostedPutRuleset', touched, ({ revision_hash: revision }) =>
    own.saved(sent.current, revision),
  );
  const { hasMoved, by, settle } = useEditConflict(own.isOld, save);
  const [target, setTarget] = useState('');
  const [reason, setReason] = useState('');
  const problems = useProblems(text === '' ? null : text);
  // The name in the document decides the ruleset.
  const called = useMemo(() => nameIn(text), [text]);
  const isRefused = useRefused(save.error?.status === 422, '');
  const submit = (forcedFor: string | null): void => {
    sent.current = text;
    save.mutate(
      {
        params: { name: called },
        ...(called === name ? { ifMatch: own.base } : {}),
        query: {
          ...(target === '' ? { deploy: 'false' } : { env: target }),
          ...(forcedFor === null ? {} : { force: true, reason: forcedFor }),
        },
        yaml: text,
      },
      (saved) => {
        const linted = ofDocument(saved.warnings).filter(({ severity }) => severity !== 'notice').length;
        const lintNote = linted > 0 ? ` The linter found ${counted(linted, 'problem')}.` : '';
        const unable = unableIn(saved.warnings);
        if (unable !== null) say(unable, 'deny');
        say(
          `${saved.created ? `v${saved.version} saved` : `Identical to v${saved.version}, so no new version was saved`}${target === '' ? '' : `; deployed to ${target}`}.${lintNote}`,
          'allow',
        );
        onDone(called);
      },
    );
  };
  return (
    <Form
      by={by}
      act={target === '' ? 'Save ruleset' : `Save and deploy to ${target}`}
      isOff={called === '' || hasMoved}
      buttons={own.isDraft && <Button onClick={own.discard}>Discard draft</Button>}
      onSubmit={() => submit(null)}
    >
      <Editor label="Ruleset as YAML" value={text} onValue={own.set} problems={problems} />
      {name !== undefined && called !== '' && called !== name && (
        <p className="field-error">
          The value of metadata.name is different, so saving creates a separate ruleset.
        </p>
      )}
      <Select
        label="Deploy to"
        value={target}
        options={[['', 'Save without deploying'], ...envs]}
        onValue={setTarget}
      />
      {isRefused && (
        <ForceForm
          action="Save despite errors"
          act="continue despite these errors"
          {...(target === '' ? {} : { word: target })}
          busy={save.isPending}
          isOff={hasMoved}
          onForce={() => submit(reason.trim())}
          reason={reason}
          onReason={setReason}
        />
      )}
      {hasMoved && (
        <EditConflict
          noun="ruleset"
          {...(stored.created_at === undefined ? {} : { savedAt: stored.created_at })}
          onLoad={() => settle(own.discard)}
          onKeep={() => settle(own.keep)}
        />
      )}
    </Form>
  );
}

/** The name in a document; empty if the text cannot be parsed yet. */
function nameIn(text: string): string {
  const metadata = definitionOf(text)?.metadata;
  const name = (metadata as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' ? name : '';
}
