-- CreateTable
CREATE TABLE "oauth_client" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "client" TEXT NOT NULL,
    "config" JSONB NOT NULL,
    "key_id" TEXT,
    "wrapped_key" BYTEA,
    "sealed" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "oauth_client_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_state" (
    "hash" TEXT NOT NULL,
    "nonce_hash" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "member_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "secret_name" TEXT NOT NULL,
    "workspace_id" TEXT,
    "redirect_uri" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "wrapped_key" BYTEA NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "oauth_state_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "secret_token" (
    "secret_id" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "lease_version" INTEGER,
    "doubt_version" INTEGER,
    "failure" JSONB,
    "version" INTEGER,
    "key_id" TEXT,
    "wrapped_key" BYTEA,
    "sealed" BYTEA,
    "expires_at" TIMESTAMPTZ(3),
    "renew_at" TIMESTAMPTZ(3),

    CONSTRAINT "secret_token_pkey" PRIMARY KEY ("secret_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "oauth_client_tenant_id_name_key" ON "oauth_client"("tenant_id", "name");

-- CreateIndex
CREATE INDEX "oauth_client_key_id_idx" ON "oauth_client"("key_id");

-- CreateIndex
CREATE INDEX "oauth_state_client_id_idx" ON "oauth_state"("client_id");

-- CreateIndex
CREATE INDEX "oauth_state_expires_at_idx" ON "oauth_state"("expires_at");

-- AddForeignKey
ALTER TABLE "oauth_state" ADD CONSTRAINT "oauth_state_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "oauth_client"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "secret_token" ADD CONSTRAINT "secret_token_secret_id_fkey" FOREIGN KEY ("secret_id") REFERENCES "secret"("id") ON DELETE CASCADE ON UPDATE CASCADE;
