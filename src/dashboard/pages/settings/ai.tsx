// AI assistance for contracts: provider, key, model, a test, and costs.

import { type JSX, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Field, Form, Select, useFields } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, Data, Notice, PageHead, Time } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { RemovalDialog } from '../../ui/resource.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';
import { AiUsage } from './ai-usage.tsx';

type Ai = Reply<'aiSettings'>;

const providers = [
  ['hosted_a', 'Hosted A'],
  ['hosted_b', 'Hosted B'],
  ['router', 'Router'],
  ['local', 'Local'],
] as const;

export default function AssistantPage(): JSX.Element {
  const { is_admin: isAdmin } = useSignedIn();
  const aiSettingsQuery = useCall('aiSettings');
  return (
    <div className="page">
      <PageHead title="Assistant" summary={isAdmin ? undefined : 'Only an admin can change the assistant.'} />
      <TitledCard title="Assistant">
        <QueryResult query={aiSettingsQuery} rows={3}>
          {(settings) => (
            <>
              <p className="muted">
                {settings.configured ? (
                  <>
                    The assistant helps you write contracts. Updated <Time at={settings.updated_at} />
                    {settings.updated_by && (
                      <Data before=" by " text={settings.updated_by} mono={false} max={80} />
                    )}
                    .
                  </>
                ) : (
                  'No assistant is configured.'
                )}
              </p>
              {isAdmin ? (
                <AiFields key={settings.updated_at ?? ''} settings={settings} />
              ) : (
                <p className="muted">Only an admin can change the provider.</p>
              )}
              {settings.configured && <AiUsage />}
            </>
          )}
        </QueryResult>
      </TitledCard>
    </div>
  );
}

function AiFields({ settings }: { readonly settings: Ai }): JSX.Element {
  const save = useAction('putAiSettings', ['aiSettings']);
  const test = useAction('testAiSettings');
  const [form, bind, setForm] = useFields({
    provider: settings.provider || 'hosted_a',
    key: '',
    model: settings.model ?? '',
    url: settings.base_url ?? '',
  });
  const [forgetting, setForgetting] = useState(false);
  return (
    <Form
      by={save}
      act="Save assistant"
      buttons={
        settings.configured && (
          <>
            <ActButton operation="testAiSettings" busy={test.isPending} onClick={() => test.mutate({})}>
              Test assistant
            </ActButton>
            <Button kind="danger" onClick={() => setForgetting(true)}>
              Remove assistant
            </Button>
          </>
        )
      }
      onSubmit={() => {
        const body = {
          provider: form.provider,
          model: form.model || null,
          base_url: form.url || null,
          // An empty field keeps the stored key.
          ...(form.key === '' ? {} : { api_key: form.key }),
        };
        save.mutate({ body } as Input<'putAiSettings'>, () => {
          setForm({ ...form, key: '' });
          say('Assistant saved.', 'allow');
        });
      }}
    >
      <div className="columns-two">
        <Select {...bind('provider')} label="Provider" options={providers} />
        <Field {...bind('model')} label="Model" help="Leave empty to use the default model." />
        <Field
          {...bind('key', 'api_key')}
          label="Provider API key"
          type="password"
          autoComplete="off"
          placeholder={settings.api_key_masked ?? ''}
          help={settings.api_key_masked ? 'Leave empty to keep the stored key.' : undefined}
        />
        <Field
          {...bind('url', 'base_url')}
          label="Base URL"
          help="Needed only for a router or a local model."
        />
      </div>
      {test.error && <Failed error={test.error} />}
      {test.data && (
        <Notice tone={test.data.ok ? 'allow' : 'deny'} role="status">
          {test.data.ok ? (
            <>
              Test passed: <Data text={test.data.model ?? 'default model'} max={120} />, in{' '}
              {Math.round(test.data.latency_ms ?? 0)} ms.
            </>
          ) : (
            <Data
              before="Test failed: "
              text={test.data.error ?? 'the provider gave no reason'}
              mono={false}
              max={400}
            />
          )}
        </Notice>
      )}
      <RemovalDialog
        operation="deleteAiSettings"
        refreshes={['aiSettings']}
        title="Remove assistant"
        input={{}}
        open={forgetting}
        onClose={() => setForgetting(false)}
      >
        Removing the assistant deletes the stored key and turns off writing assistance. Usage figures remain.
      </RemovalDialog>
    </Form>
  );
}
