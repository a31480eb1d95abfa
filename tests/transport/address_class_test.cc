#include "transport/address_class.h"

#include <gtest/gtest.h>

namespace postrider::net {
namespace {

struct Case {
  const char* address;
  AddressClass is;
};

constexpr Case kCases[] = {
    {"1.1.1.1", AddressClass::Public},
    {"8.8.8.8", AddressClass::Public},
    {"9.255.255.255", AddressClass::Public},
    {"11.0.0.0", AddressClass::Public},
    {"100.63.255.255", AddressClass::Public},
    {"100.128.0.0", AddressClass::Public},
    {"126.255.255.255", AddressClass::Public},
    {"128.0.0.0", AddressClass::Public},
    {"169.253.255.255", AddressClass::Public},
    {"169.255.0.0", AddressClass::Public},
    {"172.15.255.255", AddressClass::Public},
    {"172.32.0.0", AddressClass::Public},
    {"192.0.1.0", AddressClass::Public},
    {"192.167.255.255", AddressClass::Public},
    {"192.169.0.0", AddressClass::Public},
    {"198.17.255.255", AddressClass::Public},
    {"198.20.0.0", AddressClass::Public},
    {"223.255.255.255", AddressClass::Public},
    {"0.0.0.0", AddressClass::Unspecified},
    {"0.255.255.255", AddressClass::Unspecified},
    {"10.0.0.0", AddressClass::Private},
    {"10.255.255.255", AddressClass::Private},
    {"100.64.0.0", AddressClass::Shared},
    {"100.127.255.255", AddressClass::Shared},
    {"127.0.0.1", AddressClass::Loopback},
    {"127.255.255.254", AddressClass::Loopback},
    {"169.254.169.254", AddressClass::LinkLocal},
    {"172.16.0.1", AddressClass::Private},
    {"172.31.255.255", AddressClass::Private},
    {"192.0.0.8", AddressClass::Reserved},
    {"192.0.2.1", AddressClass::Documentation},
    {"192.88.99.1", AddressClass::Translated},
    {"192.168.0.1", AddressClass::Private},
    {"198.18.0.1", AddressClass::Benchmark},
    {"198.19.255.255", AddressClass::Benchmark},
    {"198.51.100.7", AddressClass::Documentation},
    {"203.0.113.7", AddressClass::Documentation},
    {"224.0.0.1", AddressClass::Multicast},
    {"239.255.255.255", AddressClass::Multicast},
    {"240.0.0.1", AddressClass::Reserved},
    {"255.255.255.255", AddressClass::Reserved},
    {"2606:4700::1111", AddressClass::Public},
    {"2a00:1450::8", AddressClass::Public},
    {"3ffe::1", AddressClass::Public},
    {"::", AddressClass::Unspecified},
    {"::1", AddressClass::Loopback},
    {"::2", AddressClass::Translated},
    {"::127.0.0.1", AddressClass::Translated},
    {"::ffff:127.0.0.1", AddressClass::Translated},
    {"::ffff:8.8.8.8", AddressClass::Translated},
    {"::ffff:0:127.0.0.1", AddressClass::Translated},
    {"64:ff9b::127.0.0.1", AddressClass::Translated},
    {"64:ff9b::a9fe:a9fe", AddressClass::Translated},
    {"64:ff9b:1::1", AddressClass::Translated},
    {"2001::1", AddressClass::Translated},
    {"2001:2::1", AddressClass::Benchmark},
    {"2001:10::1", AddressClass::Reserved},
    {"2001:db8::1", AddressClass::Documentation},
    {"2002:7f00:1::", AddressClass::Translated},
    {"2002:a00:1::1", AddressClass::Translated},
    {"3fff::1", AddressClass::Documentation},
    {"100::1", AddressClass::Reserved},
    {"4000::1", AddressClass::Reserved},
    {"5f00::1", AddressClass::Reserved},
    {"fc00::1", AddressClass::UniqueLocal},
    {"fdff::1", AddressClass::UniqueLocal},
    {"fe80::1", AddressClass::LinkLocal},
    {"febf::1", AddressClass::LinkLocal},
    {"fec0::1", AddressClass::SiteLocal},
    {"ff02::1", AddressClass::Multicast},
};

TEST(AddressClass, EveryNetHasItsClassUpToItsBorders) {
  for (const Case& c : kCases) {
    const auto address = parse_ip(c.address);
    ASSERT_TRUE(address) << c.address;
    EXPECT_EQ(to_text(classify(*address)), to_text(c.is)) << c.address;
  }
}

TEST(AddressClass, OnlyThePlainFormsAreLiterals) {
  for (const char* text :
       {"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "0x7f.1", "[::1]", "::1%lo"}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
}

TEST(AddressClass, AnAddressIsWrittenAsItWasRead) {
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) EXPECT_EQ(format_ip(*parse_ip(text)), text);
}

}  // namespace
}  // namespace postrider::net
