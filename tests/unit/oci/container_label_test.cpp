// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "oci/container_label.h"

BOOST_AUTO_TEST_SUITE(container_label)

using namespace ogh;

BOOST_AUTO_TEST_CASE(a_pods_container_is_called_as_kubernetes_calls_it)
{
    Config config;
    BOOST_TEST((label_of(config) == ContainerLabel()));
    config.annotations = {{"io.kubernetes.cri.container-name", "train"},
                          {"io.kubernetes.cri.sandbox-name", "job-1"},
                          {"io.kubernetes.cri.sandbox-namespace", "ml"},
                          {"io.kubernetes.cri.image-name", "example.org/train:3"}};
    const ContainerLabel label{"job-1/train", "example.org/train:3", "ml"};
    BOOST_TEST((label_of(config) == label));
    config.annotations = {{"io.kubernetes.container.name", "train"},
                          {"io.kubernetes.pod.name", "job-1"},
                          {"io.kubernetes.pod.namespace", "ml"},
                          {"io.kubernetes.cri-o.ImageName", "example.org/train:3"}};
    BOOST_TEST((label_of(config) == label));
    config.annotations = {{"io.kubernetes.container.name", std::string(5000, 'x')}};
    BOOST_TEST(label_of(config).name.size() == 128);
}

BOOST_AUTO_TEST_SUITE_END()
