// Tokens of vendors that redaction hides where they stand alone: a form of each, and a public page about it.
import { example } from './example.ts';

const generated = '[A-Za-z0-9]';
const url64 = '[A-Za-z0-9_-]';

const forms: readonly string[] = [
  'n?-----BEGIN [A-Z ]{0,40}PRIVATE KEY[\\s\\S]*?(?:-----END[^-]{0,64}-----|$)', // PEM: https://www.rfc-editor.org/rfc/rfc7468
  '---- BEGIN SSH2 [A-Z ]{0,20}PRIVATE KEY[\\s\\S]*?(?:---- END[^-]{0,64}----|$)', // SSH2: https://www.rfc-editor.org/rfc/rfc4716
  `sk-${url64}{20,}`, // OpenAI, Anthropic, DeepSeek: https://platform.openai.com/docs/api-reference/authentication
  `[rs]k_(?:live|test)_${generated}{16,}`, // Stripe: https://docs.stripe.com/keys
  '(?:whsec_[A-Za-z0-9+/=]{16,})', // Stripe webhooks: https://docs.stripe.com/webhooks
  'A(?:[KS]IA|BIA|CCA)[A-Z0-9]{16,}', // AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
  `AIza${url64}{35,}`, // Google Cloud: https://cloud.google.com/docs/authentication/api-keys
  `ya29\\.${url64}{20,}`, // Google access: https://developers.google.com/identity/protocols/oauth2
  `GOCSPX-${url64}{20,}`, // Google client: https://developers.google.com/identity/protocols/oauth2
  `1//0${url64}{30,}`, // Google refresh: https://developers.google.com/identity/protocols/oauth2
  `eyJ${url64}{20,}\\.[\\w.-]*`, // JSON web token: https://www.rfc-editor.org/rfc/rfc7519
  `gh[oprsu]_${generated}{36,}`, // GitHub: https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
  'github_pat_[A-Za-z0-9_]{22,}', // GitHub fine-grained: https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens
  `gl(?:pat|dt|rt|ptt|ft|imt|agent|oas|soat|cbt|ffct)-${url64}{20,}`, // GitLab: https://docs.gitlab.com/security/tokens/
  `GR1348941${url64}{20,}`, // GitLab registration: https://docs.gitlab.com/security/tokens/
  `AT(?:BB|CTT3xFfG)${url64}{24,}=?`, // Bitbucket: https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/
  `ATATT3${url64}{40,}=?`, // Atlassian: https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/
  `${generated}{76}AZDO${generated}{4}`, // Azure DevOps: https://learn.microsoft.com/en-us/azure/devops/organizations/accounts/use-personal-access-tokens-to-authenticate
  '[\\w.-]{3}\\dQ~[\\w~.-]{31,34}', // Azure client: https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml
  `sgp_${generated}{16,}(?:_[0-9a-f]{40})?`, // Sourcegraph: https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token
  `xox[bpasre](?:\\.xox[bp])?-[A-Za-z0-9-]{10,}`, // Slack: https://api.slack.com/concepts/token-types
  'xapp-[A-Za-z0-9-]{10,}', // Slack apps: https://api.slack.com/concepts/token-types
  `\\d{8,10}:[A-Za-z0-9_-]{34,36}(?!${url64})`, // Telegram bots: https://core.telegram.org/bots/api
  `[MNO]${url64}{23,27}\\.${url64}{6}\\.${url64}{27,}`, // Discord bots: https://discord.com/developers/docs/reference
  'SK[0-9a-f]{32}(?![0-9a-f])', // Twilio: https://www.twilio.com/docs/iam/api-keys
  `SG\\.${url64}{16,}\\.${url64}{16,}`, // SendGrid: https://docs.sendgrid.com/ui/account-and-settings/api-keys
  'key-[0-9a-f]{32}', // Mailgun: https://documentation.mailgun.com/docs/mailgun/api-reference/authentication/
  '[0-9a-f]{32}-us\\d{1,2}(?!\\d)', // Mailchimp: https://mailchimp.com/developer/marketing/docs/fundamentals/
  'x(?:keysib|smtpsib)-[0-9a-f]{64}-\\w{16}', // Brevo: https://developers.brevo.com/docs/getting-started
  `do[opr]_v1_${generated}{40,}`, // DigitalOcean: https://docs.digitalocean.com/reference/api/create-personal-access-token/
  `LTAI${generated}{12,}`, // Alibaba Cloud: https://www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair
  `AKID${generated}{32}`, // Tencent Cloud: https://www.tencentcloud.com/document/product/598/32675
  `AQVN${url64}{35,}`, // Yandex Cloud: https://yandex.cloud/en/docs/iam/concepts/authorization/api-key
  'SCW[A-Z0-9]{17}', // Scaleway: https://www.scaleway.com/en/docs/iam/concepts/
  `HRKU-${url64}{36,}`, // Heroku: https://devcenter.heroku.com/articles/authentication
  `(?:fo1|fm[12][ar]?)_[\\w+/=-]{40,}`, // Fly.io: https://fly.io/docs/security/tokens/
  `nf[pcou]_${generated}{36,}`, // Netlify: https://docs.netlify.com/api/get-started/
  `vercel_blob_rw_\\w{30,}`, // Vercel: https://vercel.com/docs/storage/vercel-blob
  `rnd_${generated}{24,}`, // Render: https://render.com/docs/api
  `(?:sbp_[0-9a-f]{40}|sb_secret_${url64}{20,})`, // Supabase: https://supabase.com/docs/guides/api/api-keys
  `pscale_(?:tkn|pw|oauth)_[\\w.=-]{32,}`, // PlanetScale: https://planetscale.com/docs/concepts/service-tokens
  `napi_${generated}{40,}`, // Neon: https://neon.com/docs/manage/api-keys
  `AVNS_${url64}{15,}`, // Aiven: https://aiven.io/docs/platform/concepts/service_credentials
  `mdb_sa_sk_${url64}{32,}`, // MongoDB Atlas: https://www.mongodb.com/docs/atlas/configure-api-access/
  'dapi[0-9a-f]{32}(?:-\\d)?', // Databricks: https://docs.databricks.com/aws/en/dev-tools/auth/pat
  `hv[bsr]\\.${url64}{24,}`, // HashiCorp Vault: https://developer.hashicorp.com/vault/docs/concepts/tokens
  `${generated}{14}\\.atlasv1\\.[\\w=-]{60,}`, // HCP Terraform: https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
  'pul-[0-9a-f]{40}', // Pulumi: https://www.pulumi.com/docs/administration/access-identity/access-tokens/
  `dp\\.(?:pt|st|ct|sa|scim|audit)\\.[\\w.-]{40,}`, // Doppler: https://docs.doppler.com/docs/service-tokens
  `ops_eyJ[A-Za-z0-9+/=_-]{40,}`, // 1Password: https://developer.1password.com/docs/service-accounts/security/
  `tskey-[a-z]{2,16}-${generated}{8,}-${generated}{16,}`, // Tailscale: https://tailscale.com/kb/1101/api
  `dckr_(?:pat|oat)_${url64}{27,}`, // Docker Hub: https://docs.docker.com/security/access-tokens/
  `npm_${generated}{36,}`, // npm: https://docs.npmjs.com/about-access-tokens
  `pypi-${url64}{32,}`, // PyPI: https://pypi.org/help/#apitoken
  'rubygems_[0-9a-f]{48}', // RubyGems: https://guides.rubygems.org/api-key-scopes/
  'oy2[a-z0-9]{43}', // NuGet: https://learn.microsoft.com/en-us/nuget/nuget-org/publish-a-package
  `cio${generated}{32}(?!${generated})`, // crates.io: https://doc.rust-lang.org/cargo/reference/publishing.html
  'CLOJARS_[0-9a-f]{60}', // Clojars: https://github.com/clojars/clojars-web/wiki/Deploy-Tokens
  `(?:AKCp${generated}{60,}|cmVmd${generated}{59})`, // JFrog: https://jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens
  `hf_${generated}{30,}`, // Hugging Face: https://huggingface.co/docs/hub/security-tokens
  `gsk_${generated}{40,}`, // Groq: https://console.groq.com/docs/quickstart
  `xai-${generated}{60,}`, // xAI: https://docs.x.ai/docs/tutorial
  `pplx-${generated}{40,}`, // Perplexity: https://docs.perplexity.ai/getting-started/quickstart
  `r8_${generated}{37}`, // Replicate: https://replicate.com/docs/topics/security/api-tokens
  'lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}', // LangSmith: https://docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key
  `pcsk_${generated}{4,16}_${generated}{40,}`, // Pinecone: https://docs.pinecone.io/guides/projects/manage-api-keys
  `shp(?:at|ca|pa|ss)_${generated}{32,}`, // Shopify: https://shopify.dev/docs/apps/build/authentication-authorization
  `(?:EAAA${url64}{60}|sq0(?:atp|csp|idp)-${url64}{22,})`, // Square: https://developer.squareup.com/docs/build-basics/access-tokens
  `EAA[A-Z]${generated}{80,}`, // Meta: https://developers.facebook.com/docs/facebook-login/guides/access-tokens/
  `sl\\.[A-Za-z0-9_=-]{100,}`, // Dropbox: https://www.dropbox.com/developers/reference/oauth-guide
  `ntn_${generated}{40,}`, // Notion: https://developers.notion.com/docs/authorization
  `lin_(?:api|oauth)_${generated}{32,}`, // Linear: https://linear.app/developers/graphql
  `pat${generated}{14}\\.[0-9a-f]{64}`, // Airtable: https://airtable.com/developers/web/api/authentication
  `fig[dou]_${url64}{40,}`, // Figma: https://www.figma.com/developers/api#access-tokens
  `CFPAT-${url64}{43}`, // Contentful: https://www.contentful.com/developers/docs/references/authentication/
  'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', // Postman: https://learning.postman.com/docs/developer/postman-api/authentication/
  `CCIP(?:AT|RJ)_${generated}{16,}_[0-9a-f]{40}`, // CircleCI: https://circleci.com/docs/managing-api-tokens/
  'bk(?:u|p)a_[0-9a-f]{40}', // Buildkite: https://buildkite.com/docs/apis/managing-api-tokens
  'API-[A-Z0-9]{25,}', // Octopus Deploy: https://octopus.com/docs/octopus-rest-api/how-to-create-an-api-key
  `sntry[su]_[\\w+/=-]{40,}`, // Sentry: https://docs.sentry.io/account/auth-tokens/
  `gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}`, // Grafana: https://grafana.com/docs/grafana/latest/administration/service-accounts/
  'NR(?:AK|RA|JS|II|IQ)-[A-Za-z0-9-]{19,}', // New Relic: https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/
  'dt0[a-z]\\d{2}\\.[A-Z0-9]{8,24}\\.[A-Z0-9]{64}', // Dynatrace: https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens
  `ph[xs]_${generated}{40,}`, // PostHog: https://posthog.com/docs/api
  'sq[apu]_[0-9a-f]{40}', // SonarQube: https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens/
  `pn[ub]_${generated}{36}`, // Prefect: https://docs.prefect.io/v3/manage/cloud/manage-users/api-keys
  `sha256~${url64}{43}`, // OpenShift: https://docs.openshift.com/container-platform/latest/authentication/managing-oauth-access-tokens.html
  'AGE-SECRET-KEY-1[A-Z0-9]{58}', // age: https://age-encryption.org/v1
  '\\$(?:[156y]|2[abxy]|apr1|argon2id?)\\$[A-Za-z0-9./$=,+-]{16,512}', // Stored passwords: https://man7.org/linux/man-pages/man5/crypt.5.html
];

/** The shortest token of each form. */
export const vendorTokens: readonly string[] = forms.map(example);
