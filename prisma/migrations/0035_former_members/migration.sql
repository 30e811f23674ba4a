-- Addresses of members who were removed: to this account they are not outsiders.
CREATE TABLE "former_member" (
    "tenant_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "removed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "former_member_pkey" PRIMARY KEY ("tenant_id","email")
);

-- Whatever removes a member leaves the row, in its own transaction.
CREATE FUNCTION keep_former_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO former_member (tenant_id, email) VALUES (OLD.tenant_id, lower(OLD.email))
    ON CONFLICT (tenant_id, email) DO UPDATE SET removed_at = now();
  RETURN NULL;
END $$;

CREATE TRIGGER keep_former_member AFTER DELETE ON member FOR EACH ROW EXECUTE FUNCTION keep_former_member();

-- Those who were removed before this table existed, as the audit names them.
INSERT INTO former_member (tenant_id, email, removed_at)
  SELECT tenant_id, lower(detail->>'email'), max(at) FROM audit_entry
  WHERE action = 'team.remove' AND detail->>'email' IS NOT NULL GROUP BY 1, 2
  ON CONFLICT DO NOTHING;
