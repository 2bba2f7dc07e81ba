import { describe, expect, it } from "vitest";
import { readConfig, readStoreSettings } from "../../../src/config/config.ts";
import { misspelledSetting } from "../../../src/config/misspelled.ts";
import { environmentVariables, removedVariables } from "../../../src/config/settings.ts";

const settings = Object.keys(environmentVariables);

/** Names that systems, shells, service managers, build servers and libraries set. */
const COMMON = `
  _ PATH HOME USER LOGNAME SHELL PWD OLDPWD SHLVL LANG LANGUAGE LC_ALL LC_CTYPE TERM TERM_PROGRAM
  TERM_PROGRAM_VERSION COLORTERM COLUMNS LINES TZ TMPDIR TEMP TMP EDITOR VISUAL PAGER LESS MAIL
  MAILTO MAILCHECK MAIL_HOST MAIL_PORT DISPLAY WAYLAND_DISPLAY HOSTNAME HOSTTYPE HOST_IP OSTYPE
  MACHTYPE SSH_AUTH_SOCK SSH_CLIENT SSH_CONNECTION SSH_TTY SUDO_USER SUDO_COMMAND SUDO_UID
  XDG_DATA_HOME XDG_DATA_DIRS XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_CACHE_HOME XDG_RUNTIME_DIR
  XDG_SESSION_ID DBUS_SESSION_BUS_ADDRESS COMMAND_MODE SECURITYSESSIONID APPDATA LOCALAPPDATA
  PROGRAMDATA ProgramFiles SystemRoot windir ComSpec PATHEXT USERPROFILE COMPUTERNAME OneDrive
  INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET LISTEN_FDS LISTEN_PID LISTEN_FDNAMES MAINPID
  MANAGERPID WATCHDOG_USEC WATCHDOG_PID RUNTIME_DIRECTORY STATE_DIRECTORY CACHE_DIRECTORY
  LOGS_DIRECTORY CONFIGURATION_DIRECTORY CREDENTIALS_DIRECTORY SYSTEMD_EXEC_PID SYSTEMD_NSS
  SERVICE_RESULT EXIT_CODE EXIT_STATUS MEMORY_PRESSURE_WATCH MEMORY_PRESSURE_WRITE
  NODE NODE_ENV NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS NODE_COMPILE_CACHE NODE_NO_WARNINGS
  NODE_VERSION NODE_TLS_REJECT_UNAUTHORIZED YARN_VERSION UV_THREADPOOL_SIZE FORCE_COLOR NO_COLOR
  DEBUG INIT_CWD npm_command npm_config_cache npm_config_loglevel npm_config_registry
  npm_config_userconfig npm_config_user_agent npm_config_node_gyp npm_execpath npm_lifecycle_event
  npm_lifecycle_script npm_node_execpath npm_package_json npm_package_name npm_package_version
  NPM_TOKEN NPM_CONFIG_LOGLEVEL NVM_DIR NVM_BIN VOLTA_HOME COREPACK_HOME
  CI BUILD_ID BUILD_URL BUILD_NUMBER JOB_NAME JOB_URL BASE_BRANCH BASE_REF RUNNER_OS RUNNER_TEMP
  GITHUB_ACTIONS GITHUB_BASE_REF GITHUB_SHA GITHUB_TOKEN GITHUB_SERVER_URL GITLAB_CI
  CI_SERVER_URL CI_JOB_URL CI_PROJECT_DIR CI_REGISTRY CIRCLE_BUILD_URL JENKINS_URL TRAVIS BUILDKITE
  VERCEL VERCEL_URL NETLIFY SITE_URL RENDER RENDER_EXTERNAL_URL RAILWAY_STATIC_URL FLY_APP_NAME
  FLY_REGION DYNO HEROKU_APP_NAME WEBSITE_HOSTNAME K_SERVICE K_REVISION
  DOCKER_HOST DOCKER_CONFIG DOCKER_BUILDKIT COMPOSE_PROJECT_NAME COMPOSE_FILE container HOSTNAMES
  KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT KUBERNETES_PORT_443_TCP
  POD_NAME POD_NAMESPACE POD_IP MARKET_SIGNAL_SERVICE_HOST MARKET_SIGNAL_SERVICE_PORT
  MARKET_SIGNAL_PORT MARKET_SIGNAL_PORT_3000_TCP METRICS_SERVICE_PORT METRICS_SERVICE_HOST
  PGHOST PGPORT PGUSER PGPASSWORD PGPASSFILE PGDATABASE PGDATA PGSSLMODE PGSSLROOTCERT PGAPPNAME
  PGSERVICE PGOPTIONS PGTZ PGCONNECT_TIMEOUT POSTGRES_USER POSTGRES_PASSWORD POSTGRES_DB
  POSTGRES_URL DATABASE_HOST DATABASE_PORT DATABASE_NAME DATABASE_USER DATABASE_PASSWORD DB_URL
  REDIS_URL MONGO_URL AMQP_URL SENTRY_DSN SENTRY_ENVIRONMENT
  OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_HEADERS OTEL_TRACES_SAMPLER
  OTEL_LOG_LEVEL OTEL_RESOURCE_ATTRIBUTES OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER
  OTEL_PROPAGATORS OTEL_SDK_DISABLED
  HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
  SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
  AWS_REGION AWS_DEFAULT_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
  AWS_ROLE_ARN AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_TENANT_ID GOOGLE_APPLICATION_CREDENTIALS
  GOOGLE_CLOUD_PROJECT VAULT_ADDR VAULT_TOKEN OPENAI_API_KEY ANTHROPIC_API_KEY
  SMTP_HOST SMTP_PORT SMTP_USER SMTP_PASSWORD SMTP_FROM API_URL API_KEY SECRET_KEY SECRET_KEY_BASE
  APP_URL APP_KEY PUBLIC_URL ROOT_URL PORTS HOSTS SEEDS SORT LOGS LOG_FILE LOG_FORMAT LOG_DIR
  RUST_LOG DATADOG_API_KEY DD_AGENT_HOST DD_TRACE_ENABLED LD_LIBRARY_PATH LD_PRELOAD MALLOC_ARENA_MAX
  VITEST VITEST_MODE VITEST_POOL_ID TEST TEST_DATABASE_URL PROD DEV MODE SSR INSTALLED_PROGRAM
  APCA_API_BASE_URL ALPACA_API_KEY POLYGON_API_KEY TIINGO_API_KEY
`
  .split(/\s+/)
  .filter((name) => name !== "");

describe("a variable that looks like a misspelled setting", () => {
  it.each([
    ["DATABSE_URL", "DATABASE_URL"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["DATABASEURL", "DATABASE_URL"],
    ["database_url", "DATABASE_URL"],
    ["SMTP_ULR", "SMTP_URL"],
    ["BASEURL", "BASE_URL"],
    ["BASE-URL", "BASE_URL"],
    ["DATADIR", "DATA_DIR"],
    ["MASTERKEY", "MASTER_KEY"],
    ["MASTER_KEYS", "MASTER_KEY"],
    ["MAIL_FORM", "MAIL_FROM"],
    ["MARKETS", "MARKET"],
    ["SIGNUP", "SIGN_UP"],
    ["RATE_LIMIT", "RATE_LIMITS"],
    ["METRIC_PORT", "METRICS_PORT"],
    ["PROVIDER", "PROVIDERS"],
    ["PROVIDER_URL", "PROVIDER_URLS"],
    ["TRUSTED_PROXY", "TRUST_PROXY"],
    ["ANONYMOUS_SCOPE", "ANONYMOUS_SCOPES"],
    ["APCA_API_KEY", "APCA_API_KEY_ID"],
    ["OIDC_CLIENTID", "OIDC_CLIENT_ID"],
    ["WITNESS", "WITNESSES"],
  ])("%s stops the start and leads to %s", (name, meant) => {
    expect(() => readConfig({ [name]: "hunter2" })).toThrow(
      `${name}: there is no such setting; did you mean ${meant}? Rename or unset it.`,
    );
    expect(() => readConfig({ [name]: "hunter2" })).not.toThrow("hunter2");
    expect(() => readConfig({ [name]: "" })).not.toThrow();
  });

  it("also stops a command on the store, if it looks like a setting of the store", () => {
    expect(() => readStoreSettings({ DATABSE_URL: "postgres://x" })).toThrow("DATABASE_URL?");
    expect(() => readStoreSettings({ SMTP_ULR: "smtp://x" })).not.toThrow();
  });

  it.each(COMMON)("is none of the names that other programs use: %s", (name) => {
    expect(misspelledSetting(name, settings)).toBeUndefined();
  });

  it("is no other setting, and holds no control characters", () => {
    for (const name of settings) {
      const others = settings.filter((other) => other !== name);
      expect(misspelledSetting(name, others), name).toBeUndefined();
    }
    expect(misspelledSetting("DATABASE_URL\u001b", settings)).toBeUndefined();
  });
});

describe("a setting that is gone", () => {
  it("stops the start, says what holds in its place, and does not repeat its value", () => {
    expect(Object.keys(removedVariables)).not.toEqual([]);
    for (const [name, instead] of Object.entries(removedVariables)) {
      const read = () => readConfig({ [name]: "hunter2" });
      expect(read).toThrow(`${name}: this setting is gone; ${instead}. Unset it.`);
      expect(read).not.toThrow("hunter2");
      expect(() => readConfig({ [name]: "" })).not.toThrow();
      expect(() => readStoreSettings({ [name]: "hunter2" })).not.toThrow();
    }
  });
});
