-- Names of accounts that were signed up for with an address that has an account: no account was made, and the name is taken
-- all the same, so that a further sign-up does not tell whether the address was known.
CREATE TABLE "reserved_account" (
    "id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reserved_account_pkey" PRIMARY KEY ("id")
);
