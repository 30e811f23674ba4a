-- CreateTable
CREATE TABLE "session" (
    "id" TEXT NOT NULL,
    "member_id" TEXT NOT NULL,
    "token_hash" TEXT NOT NULL,
    "device" TEXT,
    "address" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "cli_login" (
    "id_hash" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "hostname" TEXT NOT NULL,
    "address" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "polled_at" TIMESTAMPTZ(3),
    "decision" TEXT,
    "decided_by" TEXT,

    CONSTRAINT "cli_login_pkey" PRIMARY KEY ("id_hash")
);

-- CreateTable
-- Unlogged: a count of attempts is not worth a wait for the disk, and after a crash of the database counting begins anew.
CREATE UNLOGGED TABLE "rate_limit" (
    "key" VARCHAR(255) NOT NULL,
    "points" INTEGER NOT NULL DEFAULT 0,
    "expire" BIGINT,

    CONSTRAINT "rate_limit_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE UNIQUE INDEX "session_token_hash_key" ON "session"("token_hash");

-- CreateIndex
CREATE INDEX "session_member_id_idx" ON "session"("member_id");

-- CreateIndex
CREATE INDEX "session_expires_at_idx" ON "session"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "cli_login_code_key" ON "cli_login"("code");

-- CreateIndex
CREATE INDEX "cli_login_expires_at_idx" ON "cli_login"("expires_at");

-- CreateIndex
CREATE INDEX "rate_limit_expire_idx" ON "rate_limit"("expire");
