-- AlterTable
ALTER TABLE "run" ADD COLUMN "slots" TEXT[],
ADD COLUMN "rerun" JSONB;

-- AlterTable
ALTER TABLE "step" ADD COLUMN "copied" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "slot" (
    "run_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "most" INTEGER NOT NULL,
    "held" BOOLEAN NOT NULL DEFAULT false,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "slot_pkey" PRIMARY KEY ("run_id")
);

-- CreateTable
CREATE TABLE "slot_lane" (
    "run_id" TEXT NOT NULL,
    "lane" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "slots" TEXT[],
    "state" TEXT NOT NULL,
    "starts" BOOLEAN NOT NULL DEFAULT false,
    "room" INTEGER,
    "place" BIGSERIAL NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "slot_lane_pkey" PRIMARY KEY ("run_id","lane")
);

-- CreateIndex
CREATE INDEX "slot_workspace_id_key_idx" ON "slot"("workspace_id", "key");

-- CreateIndex
CREATE INDEX "slot_lane_workspace_id_state_place_idx" ON "slot_lane"("workspace_id", "state", "place");
