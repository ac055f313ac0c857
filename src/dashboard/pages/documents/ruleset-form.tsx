// The form of a ruleset: checks the text while a person types, and saves it as the next version, with or without a
// deployment.
import { type JSX, useMemo, useState } from 'react';
import { useDraft } from '../../lib/drafts.ts';
import { definitionOf } from '../../lib/engine.ts';
import { useHosted, useHostedAction } from '../../lib/hosted-query.ts';
import { useProblems } from '../../lib/own-words.ts';
import { useRefused } from '../../lib/refused.ts';
import { envs } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { ofDocument, unableIn } from '../../lib/unable.ts';
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
    <RulesetFields stored={starterRuleset} onDone={onDone} />
  ) : (
    <NextVersion name={name} onDone={onDone} />
  );
}

/** The editor appears after the document has loaded. */
function NextVersion({ name, onDone }: Required<Props>): JSX.Element {
  const before = useHosted('hostedGetRuleset', { params: { name } });
  return (
    <QueryResult query={before} rows={8}>
      {({ yaml_content }) => <RulesetFields name={name} stored={yaml_content} onDone={onDone} />}
    </QueryResult>
  );
}

const touched = ['hostedListRulesets', 'hostedRulesetVersions', 'hostedGetRuleset'] as const;

/** @param stored initial text of the editor */
function RulesetFields({ name, stored, onDone }: Props & { readonly stored: string }): JSX.Element {
  const [draft, setDraft] = useDraft<{ readonly text: string; readonly base: string }>(
    `ruleset ${name ?? ''}`,
  );
  const save = useHostedAction('hostedPutRuleset', touched, () => setDraft(null));
  const text = draft?.text ?? stored;
  const isOld = draft !== null && draft.base !== stored && draft.text !== stored;
  const setText = (next: string): void => {
    if (next !== text) setDraft({ text: next, base: draft?.base ?? stored });
  };
  const [target, setTarget] = useState('');
  const [reason, setReason] = useState('');
  const problems = useProblems(text === '' ? null : text);
  // The name in the document decides the ruleset.
  const called = useMemo(() => nameIn(text), [text]);
  const isRefused = useRefused(save.error?.status === 422, '');
  const submit = (forcedFor: string | null): void =>
    save.mutate(
      {
        params: { name: called },
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
  return (
    <Form
      by={save}
      act={target === '' ? 'Save ruleset' : `Save and deploy to ${target}`}
      isOff={called === ''}
      buttons={draft && <Button onClick={() => setDraft(null)}>Discard draft</Button>}
      onSubmit={() => submit(null)}
    >
      {isOld && (
        <p className="notice notice-ask" role="status">
          Another user saved a newer version. Your draft is unchanged. Compare both before you save.
        </p>
      )}
      <Editor label="Ruleset as YAML" value={text} onValue={setText} problems={problems} />
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
          onForce={() => submit(reason.trim())}
          reason={reason}
          onReason={setReason}
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
