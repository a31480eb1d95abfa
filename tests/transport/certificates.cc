#include "transport/certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/check.h"

namespace postrider::test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key make_key() { return {EVP_EC_gen("P-256"), &EVP_PKEY_free}; }

void extend(X509* subject, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, subject, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  POSTRIDER_CHECK(extension != nullptr);
  X509_add_ext(subject, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make_certificate(EVP_PKEY* key, const char* name, X509* issuer, long serial, long from, long until) {
  Certificate made{X509_new(), &X509_free};
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), until);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer != nullptr ? issuer : made.get()));
  return made;
}

template <class Write>
void write_file(const std::string& path, Write write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  POSTRIDER_CHECK(file != nullptr);
  POSTRIDER_CHECK(write(file) == 1);
  std::fclose(file);
}

}  // namespace

struct TestCa::Impl {
  Key key = make_key();
  Certificate certificate = make_certificate(key.get(), "Test CA", nullptr, 1, -7200, 7200);
  long serial = 1;
  std::vector<std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>> contexts;
};

TestCa::TestCa() : impl_(std::make_unique<Impl>()) {
  std::string pattern = std::filesystem::temp_directory_path() / "postrider-ca-XXXXXX";
  POSTRIDER_CHECK(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
  X509* ca = impl_->certificate.get();
  extend(ca, ca, NID_basic_constraints, "critical,CA:TRUE");
  extend(ca, ca, NID_key_usage, "critical,keyCertSign");
  extend(ca, ca, NID_subject_key_identifier, "hash");
  X509_sign(ca, impl_->key.get(), EVP_sha256());
  write_file(file(), [&](std::FILE* f) { return PEM_write_X509(f, ca); });
}

TestCa::~TestCa() { std::filesystem::remove_all(folder_); }

TestCa::Files TestCa::make_leaf(const Leaf& leaf) {
  const Key key = make_key();
  const long serial = ++impl_->serial;
  X509* ca = impl_->certificate.get();
  const Certificate made = make_certificate(key.get(), "leaf", ca, serial, leaf.from_seconds, leaf.until_seconds);
  extend(made.get(), ca, NID_basic_constraints, "CA:FALSE");
  extend(made.get(), ca, NID_subject_alt_name, leaf.san.c_str());
  X509_sign(made.get(), impl_->key.get(), EVP_sha256());
  Files files{folder_ + "/leaf" + std::to_string(serial) + ".pem", folder_ + "/leaf" + std::to_string(serial) + ".key"};
  write_file(files.certificate, [&](std::FILE* f) { return PEM_write_X509(f, made.get()); });
  write_file(files.key,
             [&](std::FILE* f) { return PEM_write_PrivateKey(f, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  return files;
}

ssl_ctx_st* TestCa::server(const Leaf& leaf) {
  const Files files = make_leaf(leaf);
  impl_->contexts.emplace_back(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  SSL_CTX* context = impl_->contexts.back().get();
  POSTRIDER_CHECK(SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) == 1);
  POSTRIDER_CHECK(SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1);
  return context;
}

}  // namespace postrider::test
